import { Field, Form, useDraft } from "../settings/parts";
import { Reset, type SectionProps, useChanging } from "./settings";

/** What the agent of a new conversation is told, besides its task and the instructions of its project. */
export function Instructions({ known, refresh }: SectionProps) {
  const saving = useChanging(refresh);
  const before = { added: known.agent?.context?.system_message_suffix ?? "", own: known.agent?.system_prompt ?? "" };
  const [draft, setDraft] = useDraft(before);
  const changes = {
    ...(draft.added !== before.added ? { context: { system_message_suffix: draft.added } } : {}),
    ...(draft.own !== before.own ? { system_prompt: draft.own.trim() ? draft.own : null } : {}),
  };
  return (
    <Form
      needs="change_server_agent"
      saving={saving}
      action="Save"
      ready={Object.keys(changes).length > 0}
      onSubmit={() => void saving.change(changes)}
      more={<Reset fields={["system_prompt", "context/system_message_suffix"]} known={known} saving={saving} />}
    >
      <p class="quiet">New conversations begin with these instructions. Those of the project, such as AGENTS.md, are added.</p>
      <Field label="Instructions" hint="added to the system prompt">
        <textarea rows={6} value={draft.added} placeholder="Run the tests before you finish." onInput={(event) => setDraft({ ...draft, added: event.currentTarget.value })} />
      </Field>
      <details class="more-fields" open={before.own !== ""}>
        <summary>More</summary>
        <Field label="System prompt" hint="empty: the built-in one">
          <textarea rows={6} value={draft.own} placeholder="You are …" onInput={(event) => setDraft({ ...draft, own: event.currentTarget.value })} />
        </Field>
      </details>
    </Form>
  );
}
