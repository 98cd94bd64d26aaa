import type { EventOf } from "@agentrt/client";
import { useState } from "preact/hooks";
import { contentOf, type Field, fieldsOf } from "../model/forms";
import { isWeb } from "../model/servers";
import { clean } from "../model/words";
import { control } from "../state/doing";
import type { Open } from "../state/open";
import { past } from "../state/past";
import { may } from "../state/session";

/** Above the composer while a tool asks a person something. */
export function Inputs({ conversation }: { conversation: Open }) {
  const asked = conversation.inputs.value[0];
  if (asked === undefined || past.value !== null) return null;
  return <Question key={asked.id} asked={asked} />;
}

function Question({ asked }: { asked: EventOf<"InputRequested"> }) {
  const fields = fieldsOf(asked.schema);
  const url = asked.url ?? "";
  const [filled, setFilled] = useState<Record<string, string | boolean>>(() => Object.fromEntries(fields.map((field) => [field.name, field.initial])));
  const answer = (verdict: "accept" | "decline"): void => {
    void control({ type: "input", request_id: asked.id, verdict, content: verdict === "accept" ? contentOf(fields, filled) : {} });
  };
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    answer("accept");
  };
  return (
    <form class="question" aria-label="Question from a tool" onSubmit={send}>
      <p>
        {asked.asks ? <strong>{clean(asked.asks)} asks: </strong> : null}
        {clean(asked.message)}
      </p>
      {isWeb(url) ? (
        <a class="file-path" href={url} target="_blank" rel="noopener noreferrer">
          {clean(url)}
        </a>
      ) : url ? (
        <code class="file-path">{clean(url)}</code>
      ) : null}
      {fields.map((field) => (
        <Member key={field.name} field={field} value={filled[field.name] ?? ""} set={(value) => setFilled({ ...filled, [field.name]: value })} />
      ))}
      {may("input") ? (
        <div class="question-answers">
          <button type="submit" class="button primary">
            {url ? "I have opened it" : fields.length > 0 ? "Send" : "Allow"}
          </button>
          <button type="button" class="button" onClick={() => answer("decline")}>
            Decline
          </button>
        </div>
      ) : (
        <p class="hint">This key cannot answer: that needs the scope “approve”.</p>
      )}
    </form>
  );
}

function Member({ field, value, set }: { field: Field; value: string | boolean; set: (value: string | boolean) => void }) {
  const type = (event: Event): void => set((event.currentTarget as HTMLInputElement | HTMLSelectElement).value);
  return (
    <label class={field.kind === "yes" ? "question-yes" : ""}>
      <span>{clean(field.label)}</span>
      {field.kind === "choice" ? (
        <select value={String(value)} required={field.required} onChange={type}>
          <option value="">…</option>
          {field.choices.map((choice) => (
            <option key={choice} value={choice}>
              {clean(choice)}
            </option>
          ))}
        </select>
      ) : field.kind === "yes" ? (
        <input type="checkbox" checked={value === true} onChange={() => set(value !== true)} />
      ) : field.kind === "number" ? (
        <input type="number" step="any" value={String(value)} required={field.required} onInput={type} />
      ) : (
        <input value={String(value)} required={field.required} onInput={type} />
      )}
      {field.about ? <span class="hint">{clean(field.about)}</span> : null}
    </label>
  );
}
