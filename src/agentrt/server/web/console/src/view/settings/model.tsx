import type { AnyLLM, KnownModel, LLM, Operation } from "@agentrt/client";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { membersOf, named, switched, usual } from "../../model/llms";
import { rest } from "../../state/session";
import { ModelPicker, usePrice } from "../models";
import { Field, Form, lacking, type Requests, useDraft, useSaving } from "./parts";
import type { SectionProps } from "./settings";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

interface Typed {
  model: string;
  effort: string;
  base: string;
  temperature: string;
  tokens: string;
}

/** The model that is used from the next call on. */
export function Model(props: SectionProps) {
  const saving = useSaving(props);
  const agent = props.configured.found?.agent;
  const known = useKnown(props.conversation.id, agent?.llm);
  if (!agent) return null;
  return (
    <ModelForm
      needs="switch_llm"
      saving={saving}
      llm={agent.llm}
      known={known}
      about="The new model is used from the next call on."
      apply={(llm) => void saving.control([{ type: "switch_llm", llm }], "Model changed")}
    />
  );
}

interface ModelFormProps {
  needs: Operation;
  saving: Requests;
  /** The current model. */
  llm: AnyLLM;
  known: KnownModel | undefined;
  about: string;
  apply: (llm: AnyLLM) => void;
  more?: ComponentChildren;
}

/** Chooses a model, and its settings. */
export function ModelForm({ needs, saving, llm, known: now, about, apply, more }: ModelFormProps) {
  const members = membersOf(llm);
  const before = members[0]!;
  const others = llm.type === "LLM" ? [] : members.map((member) => member.model);
  const [from, setFrom] = useState<AnyLLM>(before);
  useEffect(() => setFrom(before), [JSON.stringify(before)]);
  const base = membersOf(from)[0]!;
  const several = from.type !== "LLM";
  const [draft, setDraft] = useDraft(typed(base));
  const wanted = several ? from : made(base, draft);
  const [chosen, setChosen] = useState<KnownModel | undefined>();
  const price = usePrice(draft.model.trim(), [chosen, now].find((one) => one?.model === draft.model.trim()));
  const set = (name: keyof Typed) => (event: { currentTarget: HTMLInputElement | HTMLSelectElement }) => setDraft({ ...draft, [name]: event.currentTarget.value });
  const elsewhere = lacking({ scope: "admin" });
  return (
    <Form
      needs={needs}
      saving={saving}
      more={more}
      action="Use this model"
      ready={draft.model.trim() !== "" && (others.length > 0 || JSON.stringify(wanted) !== JSON.stringify(before))}
      onSubmit={() => apply(wanted)}
    >
      {others.length > 0 ? <p class="quiet">Each call now uses one of {others.join(", ")}. The model you choose replaces them all.</p> : null}
      <p class="quiet">{about}</p>
      <div class="field">
        <label for="model-name">
          Model <em class="quiet">provider/model, or a profile</em>
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
      {several ? <p class="quiet">Each call uses one of {named(from)}.</p> : <Details draft={draft} set={set} elsewhere={elsewhere} />}
    </Form>
  );
}

function Details({ draft, set, elsewhere }: { draft: Typed; set: (name: keyof Typed) => (event: { currentTarget: HTMLInputElement | HTMLSelectElement }) => void; elsewhere: string }) {
  return (
    <>
      <Field label="Base URL" hint={elsewhere || "the provider’s API address"}>
        <input type="url" value={draft.base} disabled={elsewhere !== ""} placeholder="usual address of the provider" onInput={set("base")} />
      </Field>
      <Field label="Reasoning effort">
        <select value={draft.effort} onChange={set("effort")}>
          <option value="">provider default</option>
          {EFFORTS.map((effort) => (
            <option key={effort}>{effort}</option>
          ))}
        </select>
      </Field>
      <details class="more-fields">
        <summary>More</summary>
        <Field label="Temperature">
          <input type="number" min="0" max="2" step="any" value={draft.temperature} placeholder="provider default" onInput={set("temperature")} />
        </Field>
        <Field label="Maximum tokens per reply">
          <input type="number" min="1" step="1" value={draft.tokens} placeholder="provider default" onInput={set("tokens")} />
        </Field>
      </details>
    </>
  );
}

/** The facts about the current model. */
function useKnown(id: string, before: AnyLLM | undefined): KnownModel | undefined {
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

/** The typed model. Untouched settings stay if they make sense for it. */
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
