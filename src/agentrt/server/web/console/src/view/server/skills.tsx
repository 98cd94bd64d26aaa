import type { Skill } from "@agentrt/client";
import { useState } from "preact/hooks";
import { clean } from "../../model/words";
import { Field, Form, Remove, Said } from "../settings/parts";
import { Reset, type SectionProps, useChanging } from "./settings";

const EMPTY = { name: "", triggers: "", body: "" };

/** The skills of new conversations, besides those of the project and of the server's user. */
export function Skills({ known, refresh }: SectionProps) {
  const saving = useChanging(refresh);
  const removing = useChanging(refresh);
  const [draft, setDraft] = useState(EMPTY);
  const skills = known.agent?.context?.skills ?? [];
  const name = draft.name.trim();
  const others = skills.filter((one) => one.name !== name);
  const replaces = others.length < skills.length;
  const save = async (): Promise<void> => {
    const before = skills.find((one) => one.name === name);
    const triggers = draft.triggers.split(",").map((word) => word.trim()).filter(Boolean);
    const skill = { ...before, name, triggers, body: draft.body };
    if (await saving.change({ context: { skills: [...others, skill] } }, `${name} was saved`)) setDraft(EMPTY);
  };
  const set = (field: keyof typeof EMPTY) => (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => setDraft({ ...draft, [field]: event.currentTarget.value });
  return (
    <>
      <p class="quiet">A skill is a text for the agent. Without trigger words, it is part of every prompt of a new conversation.</p>
      {skills.length === 0 ? <p class="hint">No skills.</p> : null}
      <ul class="settings-list">
        {skills.map((one) => (
          <li key={one.name}>
            <code>{clean(one.name)}</code>
            <span class="quiet">{clean(factsOf(one))}</span>
            <button type="button" class="button" onClick={() => setDraft({ name: one.name, triggers: (one.triggers ?? []).join(", "), body: one.body ?? "" })}>
              Edit<span class="unseen"> {clean(one.name)}</span>
            </button>
            <Remove
              name={one.name}
              busy={removing.busy}
              onRemove={() => void removing.change({ context: { skills: skills.filter((other) => other.name !== one.name) } }, `${one.name} was removed`)}
            />
          </li>
        ))}
      </ul>
      <Said saving={removing} />
      <Form
        title={replaces ? "Edit" : "Add"}
        needs="change_server_agent"
        saving={saving}
        action={replaces ? "Replace" : "Add"}
        ready={name !== "" && draft.body.trim() !== ""}
        onSubmit={() => void save()}
        more={<Reset fields={["context/skills"]} known={known} saving={saving} />}
      >
        <div class="settings-pair">
          <Field label="Name">
            <input type="text" value={draft.name} placeholder="releases" autocomplete="off" spellcheck={false} onInput={set("name")} />
          </Field>
          <Field label="Trigger words" hint="separated by commas">
            <input type="text" value={draft.triggers} placeholder="release, changelog" autocomplete="off" onInput={set("triggers")} />
          </Field>
        </div>
        <Field label="Text">
          <textarea rows={6} value={draft.body} placeholder="How we make a release: …" onInput={set("body")} />
        </Field>
      </Form>
    </>
  );
}

function factsOf({ description, triggers, body }: Skill): string {
  const when = (triggers ?? []).length > 0 ? `on ${(triggers ?? []).join(", ")}` : "always";
  return `${when}: ${description || (body ?? "").split("\n")[0]}`;
}
