import type { ConfirmationPolicy, Control } from "@agentrt/client";
import { Fragment } from "preact";
import { analyzersOf, policyOf } from "../../model/configuration";
import { RISK } from "../../model/words";
import { Form, useDraft, useSaving } from "./parts";
import type { SectionProps } from "./settings";

const POLICIES = [
  ["ConfirmRisky", "Ask about risky actions", "Other actions run without asking"],
  ["AlwaysConfirm", "Ask about every action", "Nothing runs without your approval"],
  ["NeverConfirm", "Never ask", "For sandboxes and trusted environments"],
] as const;
const ANALYZERS: Record<string, [string, string]> = {
  rules: ["Fixed rules", "Check commands, paths and network access"],
  model: ["The model itself", "Rates each of its actions; the highest of several ratings counts"],
};
const THRESHOLDS = ["LOW", "MEDIUM", "HIGH"] as const;

interface Draft {
  policy: ConfirmationPolicy;
  analyzers: string[];
}

/** Which actions need approval, and what rates their risk. */
export function Approvals(props: SectionProps) {
  const saving = useSaving(props);
  const agent = props.configured.found?.agent;
  const there: Draft = agent ? { policy: policyOf(agent), analyzers: analyzersOf(agent) } : { policy: { type: "NeverConfirm" }, analyzers: [] };
  const [draft, setDraft] = useDraft(there);
  const { policy, analyzers } = draft;
  const wanted = controls(there, draft);
  const names = [...new Set([...Object.keys(ANALYZERS), ...there.analyzers])];
  const rate = (name: string, on: boolean): void => setDraft({ ...draft, analyzers: names.filter((one) => (one === name ? on : analyzers.includes(one))) });
  return (
    <Form needs="confirmation_policy" saving={saving} action="Save" ready={wanted.length > 0} onSubmit={() => void saving.control(wanted, "Applies from now on")}>
      <fieldset class="field">
        <legend>When to ask for approval</legend>
        <div class="choices">
          {POLICIES.map(([type, label, why]) => (
            <Fragment key={type}>
              <label class="choice">
                <input type="radio" name="policy" checked={policy.type === type} onChange={() => setDraft({ ...draft, policy: type === there.policy.type ? there.policy : { type } })} />
                <span>
                  {label}
                  <span class="quiet">{why}</span>
                </span>
              </label>
              {type === "ConfirmRisky" && policy.type === type ? <Risky policy={policy} set={(policy) => setDraft({ ...draft, policy })} /> : null}
            </Fragment>
          ))}
        </div>
      </fieldset>
      <fieldset class="field">
        <legend>Risk rated by</legend>
        <div class="choices">
          {names.map((name) => {
            const [label, why] = ANALYZERS[name] ?? [name, ""];
            return (
              <label key={name} class="choice">
                <input type="checkbox" checked={analyzers.includes(name)} onChange={(event) => rate(name, event.currentTarget.checked)} />
                <span>
                  {label}
                  <span class="quiet">{why}</span>
                </span>
              </label>
            );
          })}
        </div>
        {analyzers.length === 0 && policy.type !== "NeverConfirm" ? <p class="quiet">Approval needs risk ratings, so the fixed rules are used.</p> : null}
      </fieldset>
    </Form>
  );
}

type RiskyPolicy = Extract<ConfirmationPolicy, { type: "ConfirmRisky" }>;

/** What counts as risky. */
function Risky({ policy, set }: { policy: RiskyPolicy; set: (policy: RiskyPolicy) => void }) {
  return (
    <div class="settings-inset">
      <label>
        At or above{" "}
        <select value={policy.threshold ?? "HIGH"} onChange={(event) => set({ ...policy, threshold: event.currentTarget.value as (typeof THRESHOLDS)[number] })}>
          {THRESHOLDS.map((risk) => (
            <option key={risk} value={risk}>
              {RISK[risk]}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={policy.confirm_unknown ?? true} onChange={(event) => set({ ...policy, confirm_unknown: event.currentTarget.checked })} />
        Also ask if the risk is unknown
      </label>
    </div>
  );
}

/** The controls for the changes. */
function controls(there: Draft, draft: Draft): Control[] {
  const wanted: Control[] = [];
  if (JSON.stringify(whole(draft.policy)) !== JSON.stringify(whole(there.policy))) wanted.push({ type: "confirmation_policy", policy: draft.policy });
  if (draft.analyzers.join() !== there.analyzers.join()) wanted.push({ type: "security_analyzer", names: draft.analyzers });
  return wanted;
}

function whole(policy: ConfirmationPolicy): ConfirmationPolicy {
  return policy.type === "ConfirmRisky" ? { type: policy.type, threshold: policy.threshold ?? "HIGH", confirm_unknown: policy.confirm_unknown ?? true } : policy;
}
