import type { LLM } from "@agentrt/client";
import { membersOf, switched } from "../../model/llms";
import * as list from "../../state/list";
import { server } from "../../state/session";
import { Field, Form, lacking, useDraft, useSaving } from "./parts";
import type { SectionProps } from "./settings";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

interface Typed {
  model: string;
  effort: string;
  base: string;
  temperature: string;
  tokens: string;
}

/** Which model answers from the next call on. */
export function Model(props: SectionProps) {
  const saving = useSaving(props);
  const agent = props.configured.found?.agent;
  if (!agent) return null;
  const members = membersOf(agent.llm);
  const before = members[0]!;
  const alone = agent.llm.type === "LLM";
  return <Choose {...props} saving={saving} before={before} others={alone ? [] : members.map((member) => member.model)} />;
}

function Choose({ saving, before, others }: SectionProps & { saving: ReturnType<typeof useSaving>; before: LLM; others: string[] }) {
  const there = typed(before);
  const [draft, setDraft] = useDraft(there);
  const wanted = made(before, draft);
  const set = (name: keyof Typed) => (event: { currentTarget: HTMLInputElement | HTMLSelectElement }) => setDraft({ ...draft, [name]: event.currentTarget.value });
  const elsewhere = lacking({ scope: "admin" });
  return (
    <Form
      needs="switch_llm"
      saving={saving}
      action="Use it"
      ready={draft.model.trim() !== "" && (others.length > 0 || JSON.stringify(wanted) !== JSON.stringify(before))}
      onSubmit={() => void saving.control([{ type: "switch_llm", llm: wanted }], "It answers the next call")}
    >
      {others.length > 0 ? <p class="quiet">Now one of {others.join(", ")} is chosen for each call. What you name here takes the place of them all.</p> : null}
      <p class="quiet">It answers from the next call on: one that is under way ends as it began.</p>
      <Field label="Model" hint="a provider and its name for it">
        <input type="text" list="models" value={draft.model} required autocomplete="off" spellcheck={false} onInput={set("model")} />
        <datalist id="models">
          {suggested().map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </Field>
      <Field label="Reasoning effort">
        <select value={draft.effort} onChange={set("effort")}>
          <option value="">as the provider has it</option>
          {EFFORTS.map((effort) => (
            <option key={effort}>{effort}</option>
          ))}
        </select>
      </Field>
      <details class="more-fields">
        <summary>More</summary>
        <Field label="Temperature">
          <input type="number" min="0" max="2" step="any" value={draft.temperature} placeholder="as the provider has it" onInput={set("temperature")} />
        </Field>
        <Field label="Tokens of a reply at most">
          <input type="number" min="1" step="1" value={draft.tokens} placeholder="as the provider has it" onInput={set("tokens")} />
        </Field>
        <Field label="Base URL" hint={elsewhere || "where the provider answers, if not at its usual place"}>
          <input type="url" value={draft.base} disabled={elsewhere !== ""} onInput={set("base")} />
        </Field>
      </details>
    </Form>
  );
}

function typed(llm: LLM): Typed {
  return {
    model: llm.model,
    effort: llm.reasoning_effort ?? "",
    base: llm.base_url ?? "",
    temperature: String(llm.temperature ?? ""),
    tokens: String(llm.max_output_tokens ?? ""),
  };
}

/** The model that was typed, with what was not touched as it was, where that makes sense for it. */
function made(before: LLM, draft: Typed): LLM {
  const there = typed(before);
  const llm: LLM = { ...switched(before, draft.model.trim()) };
  const number = (text: string): number | null => (text.trim() === "" ? null : Number(text));
  if (draft.effort !== there.effort) llm.reasoning_effort = (draft.effort || null) as LLM["reasoning_effort"] & string;
  if (draft.base !== there.base) llm.base_url = draft.base.trim() || null;
  if (draft.temperature !== there.temperature) llm.temperature = number(draft.temperature);
  if (draft.tokens !== there.tokens) llm.max_output_tokens = number(draft.tokens);
  return llm;
}

/** Models that were used here. */
function suggested(): string[] {
  const used = [server.value?.model ?? "", ...(list.items.value ?? []).map((info) => info.model)];
  return [...new Set(used.filter((name) => name !== "" && !name.includes(" | ")))];
}
