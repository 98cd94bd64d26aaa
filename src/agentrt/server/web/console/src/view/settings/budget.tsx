import { useState } from "preact/hooks";
import { money } from "../../model/words";
import { Field, Form, useDraft, useSaving } from "./parts";
import type { SectionProps } from "./settings";

/** The budget: what was spent, grants and the limit. */
export function Budget(props: SectionProps) {
  const { configured, conversation } = props;
  const limits = configured.found?.agent?.limits ?? {};
  const limit = limits.max_cost ?? null;
  const granted = configured.found?.granted ?? 0;
  const spent = conversation.info.value?.cost ?? 0;
  const unpriced = conversation.info.value?.unpriced ?? 0;
  return (
    <>
      <Spent spent={spent} unpriced={unpriced} most={limit === null ? null : limit + granted} />
      {unpriced > 0 ? <p class="hint">{unpriced.toLocaleString("en")} model calls have no known price and are not included.</p> : null}
      {limit === null ? null : <Grant {...props} />}
      <Limit {...props} />
    </>
  );
}

function Spent({ spent, unpriced, most }: { spent: number; unpriced: number; most: number | null }) {
  if (most === null) return <p>{spent === 0 && unpriced > 0 ? "The amount spent is unknown." : `${money(spent)} spent.`} There is no limit, so no grant is needed.</p>;
  const share = most > 0 ? Math.min(1, spent / most) : 1;
  return (
    <div class="budget">
      <p>
        <strong>{money(spent)}</strong> of {money(most)} spent, {money(Math.max(0, most - spent))} left
      </p>
      <meter aria-label="Share of the budget spent" min={0} max={1} high={0.9} optimum={0} value={share} />
    </div>
  );
}

const AMOUNTS = ["1", "5", "20"];

function Grant(props: SectionProps) {
  const saving = useSaving(props);
  const [amount, setAmount] = useState("");
  const save = async (): Promise<void> => {
    if (await saving.control([{ type: "grant", amount: Number(amount) }], `${money(Number(amount))} granted`)) setAmount("");
  };
  return (
    <Form title="Grant more" needs="grant" saving={saving} action="Grant" ready={Number(amount) > 0} onSubmit={() => void save()}>
      <Field label="Amount (USD)" hint="added to the current budget">
        <input type="number" min="0.01" step="any" inputmode="decimal" value={amount} onInput={(event) => setAmount(event.currentTarget.value)} />
      </Field>
      <div class="amounts">
        {AMOUNTS.map((one) => (
          <button key={one} type="button" class="button" onClick={() => setAmount(one)}>
            ${one}
          </button>
        ))}
      </div>
    </Form>
  );
}

function Limit(props: SectionProps) {
  const saving = useSaving(props);
  const limits = props.configured.found?.agent?.limits ?? {};
  const there = String(limits.max_cost ?? "");
  const [draft, setDraft] = useDraft(there);
  const wanted = { ...limits, max_cost: draft.trim() === "" ? null : Number(draft) };
  const save = (): void => void saving.control([{ type: "configure", changes: { limits: wanted } as never }], "Applies from now on");
  return (
    <Form title="Limit" needs="configure" saving={saving} action="Save" ready={draft !== there} onSubmit={save}>
      <Field label="Total limit (USD)" hint="includes delegated conversations; empty: no limit">
        <input type="number" min="0" step="any" inputmode="decimal" value={draft} onInput={(event) => setDraft(event.currentTarget.value)} />
      </Field>
    </Form>
  );
}
