import { useDraft, Field, Form, useSaving } from "./parts";
import type { SectionProps } from "./settings";

const STATES = {
  running: "not reached yet",
  interrupted: "not reached yet",
  complete: "reached",
  capped: "stopped: maximum number of judgements reached",
};

/** The goal that the agent's finished work is judged against. */
export function GoalSection(props: SectionProps) {
  const saving = useSaving(props);
  const goal = props.configured.found?.goal ?? null;
  const most = goal?.max_iterations ?? 10;
  const [draft, setDraft] = useDraft({ objective: goal?.objective ?? "", most: String(most) });
  const objective = draft.objective.trim();
  const changed = objective !== (goal?.objective ?? "") || Number(draft.most) !== most;
  const save = (to: string): void =>
    void saving.control([{ type: "goal", objective: to, max_iterations: Number(draft.most) || 10 }], to ? "Applies from now on" : "Goal removed");
  return (
    <Form
      needs="goal"
      saving={saving}
      action="Set goal"
      ready={objective !== "" && (changed || goal?.outcome !== "running") && Number(draft.most) >= 1}
      onSubmit={() => save(objective)}
      more={
        goal === null ? null : (
          <button type="button" class="button danger" disabled={saving.busy} onClick={() => save("")}>
            Remove goal
          </button>
        )
      }
    >
      <p class="quiet">When the agent finishes, a judge checks its work against the goal. If something is missing, the agent continues.</p>
      {goal === null ? null : (
        <p>
          Judged {goal.iterations} of {most} times: <strong>{STATES[goal.outcome]}</strong>
        </p>
      )}
      <Field label="Goal">
        <textarea rows={3} value={draft.objective} placeholder="All tests pass, and the change is described in CHANGELOG.md" onInput={(event) => setDraft({ ...draft, objective: event.currentTarget.value })} />
      </Field>
      <Field label="Maximum number of judgements">
        <input type="number" min="1" max="1000" step="1" value={draft.most} onInput={(event) => setDraft({ ...draft, most: event.currentTarget.value })} />
      </Field>
    </Form>
  );
}
