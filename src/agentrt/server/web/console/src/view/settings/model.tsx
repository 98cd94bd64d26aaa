import type { AnyLLM, KnownModel, LLM } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { membersOf, named, switched, usual } from "../../model/llms";
import { rest } from "../../state/session";
import { ModelPicker, usePrice } from "../models";
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

function Choose({ conversation, saving, before, others }: SectionProps & { saving: ReturnType<typeof useSaving>; before: LLM; others: string[] }) {
  const [from, setFrom] = useState<AnyLLM>(before);
  useEffect(() => setFrom(before), [JSON.stringify(before)]);
  const base = membersOf(from)[0]!;
  const several = from.type !== "LLM";
  const [draft, setDraft] = useDraft(typed(base));
  const wanted = several ? from : made(base, draft);
  const now = useKnown(conversation.id, before);
  const [chosen, setChosen] = useState<KnownModel | undefined>();
  const price = usePrice(draft.model.trim(), [chosen, now].find((one) => one?.model === draft.model.trim()));
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
      <div class="field">
        <label for="model-name">
          Model <em class="quiet">a provider and its name for it, or a profile</em>
        </label>
        <ModelPicker
          id="model-name"
          value={several ? named(from) : draft.model}
          required
          onType={(model) => {
            if (several) setFrom(before);
            else setDraft({ ...draft, model });
          }}
          onChoose={({ llm, model, known }) => {
            setFrom(llm ?? usual(before, model));
            setChosen(known);
          }}
        />
        <span class="quiet" role="status">
          {price}
        </span>
      </div>
      {several ? <p class="quiet">One of {named(from)} answers each call.</p> : <Details draft={draft} set={set} elsewhere={elsewhere} />}
    </Form>
  );
}

function Details({ draft, set, elsewhere }: { draft: Typed; set: (name: keyof Typed) => (event: { currentTarget: HTMLInputElement | HTMLSelectElement }) => void; elsewhere: string }) {
  return (
    <>
      <Field label="Base URL" hint={elsewhere || "where the provider answers, if not at its usual place"}>
        <input type="url" value={draft.base} disabled={elsewhere !== ""} placeholder="its usual place" onInput={set("base")} />
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
      </details>
    </>
  );
}

/** What is known of the model that answers now. */
function useKnown(id: string, before: LLM): KnownModel | undefined {
  const [known, setKnown] = useState<KnownModel | undefined>();
  useEffect(() => {
    let wanted = true;
    setKnown(undefined);
    rest.model(id).then((found) => wanted && setKnown(found), () => undefined);
    return () => {
      wanted = false;
    };
  }, [id, JSON.stringify(before)]);
  return known;
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
