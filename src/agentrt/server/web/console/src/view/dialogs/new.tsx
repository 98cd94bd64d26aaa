import type { AnyLLM, CreateConversation, KnownModel } from "@agentrt/client";
import { useState } from "preact/hooks";
import { newId } from "../../model/ids";
import { named } from "../../model/llms";
import * as list from "../../state/list";
import { go } from "../../state/route";
import { attempt, reasonOf, rest, server } from "../../state/session";
import { drawer } from "../../state/ui";
import { ModelPicker, usePrice } from "../models";
import { ProjectPicker } from "../projects";
import { close, Frame } from "./frame";

const REMEMBERED = "agentrt.new";
const POLICIES = [
  ["", "Server default", "As set for the server’s agent"],
  ["ConfirmRisky", "Ask about risky actions", "High or unknown risk"],
  ["AlwaysConfirm", "Ask about every action", "Nothing runs without your approval"],
  ["NeverConfirm", "Never ask", "For sandboxes and trusted environments"],
] as const;

type Policy = (typeof POLICIES)[number][0];

interface Remembered {
  model: string;
  base: string;
  policy: Policy;
  project: string;
}

function remembered(): Remembered {
  const fresh: Remembered = { model: "", base: "", policy: "", project: "" };
  try {
    return { ...fresh, ...(JSON.parse(localStorage.getItem(REMEMBERED) ?? "{}") as Partial<Remembered>) };
  } catch {
    return fresh;
  }
}

export function New() {
  const before = remembered();
  const [task, setTask] = useState("");
  const [model, setModel] = useState(before.model);
  const [profile, setProfile] = useState<AnyLLM | null>(null); // with its settings, as long as its name is not changed
  const [known, setKnown] = useState<KnownModel | undefined>();
  const price = usePrice(model.trim(), known?.model === model.trim() ? known : undefined);
  const [base, setBase] = useState(before.base);
  const [policy, setPolicy] = useState<Policy>(before.policy);
  const [workspace, setWorkspace] = useState(before.project);
  const [title, setTitle] = useState("");
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState("");
  const own = server.value?.agent ?? true; // whether there is an agent to begin with
  const chose = model.trim() !== "";
  const offered = POLICIES.filter(([name]) => name !== "" || own);
  const chosen = offered.some(([name]) => name === policy) ? policy : "ConfirmRisky";

  const create = async (): Promise<void> => {
    const wanted: CreateConversation = {};
    const llm: AnyLLM = profile ?? { type: "LLM", model: model.trim(), ...(base.trim() ? { base_url: base.trim() } : {}) };
    if (chose && own) wanted.llm = llm;
    else if (chose) wanted.agent = { llm, confirmation: { type: chosen || "ConfirmRisky" } };
    if (workspace.trim()) wanted.workspace = workspace.trim();
    if (title.trim()) wanted.title = title.trim();
    // so that it is refused as a whole when the model cannot be had; a policy of its own has to be there first
    const first = chosen !== "" && wanted.agent === undefined;
    if (!first && task.trim()) wanted.message = task;
    localStorage.setItem(REMEMBERED, JSON.stringify({ model: model.trim(), base: base.trim(), policy, project: workspace.trim() }));
    setBusy(true);
    setFailed("");
    try {
      const made = await rest.create(wanted);
      close();
      drawer.value = false;
      go(made.id);
      if (first) {
        await attempt(async () => {
          await rest.do(made.id, { type: "confirmation_policy", policy: { type: chosen } });
          if (task.trim()) await rest.do(made.id, { type: "message", content: task, id: newId(), run: true });
        });
      }
      void list.refresh();
    } catch (error) {
      setFailed(reasonOf(error));
    }
    setBusy(false);
  };

  return (
    <Frame title="New conversation" onSubmit={() => busy || void create()} wide>
      <div class="field">
        <label for="new-project">
          Project <em class="quiet">the directory that the agent works in</em>
        </label>
        <ProjectPicker id="new-project" value={workspace} onType={setWorkspace} />
      </div>
      <label class="field">
        <span>Task</span>
        <textarea
          rows={5}
          autofocus
          value={task}
          placeholder="What should the agent do, and how do you know it is done?"
          onInput={(event) => setTask(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            if (!busy) void create();
          }}
        />
      </label>
      <div class="field">
        <label for="new-model">
          Model <em class="quiet">{own ? "empty: the server’s default" : "required: this server has no default"}</em>
        </label>
        <ModelPicker
          id="new-model"
          value={model}
          required={!own}
          placeholder={server.value?.model ?? "anthropic/claude-opus-4-5"}
          onType={(text) => {
            setModel(text);
            setProfile(null);
          }}
          onChoose={(offered) => {
            setModel(offered.llm ? named(offered.llm) : offered.model);
            setProfile(offered.llm);
            setKnown(offered.known);
            setBase(offered.llm?.type === "LLM" ? (offered.llm.base_url ?? "") : "");
          }}
        />
        <span class="quiet" role="status">
          {price}
        </span>
      </div>
      <fieldset class="field">
        <legend>When to ask for approval</legend>
        <div class="choices">
          {offered.map(([name, label, why]) => (
            <label key={name} class="choice">
              <input type="radio" name="policy" value={name} checked={chosen === name} onChange={() => setPolicy(name)} />
              <span>
                {label}
                <span class="quiet">{why}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <details class="more-fields">
        <summary>More</summary>
        <label class="field">
          <span>
            Base URL <em class="quiet">the provider’s API address; empty: its usual one</em>
          </span>
          <input type="url" value={base} placeholder="http://127.0.0.1:8080/v1" onInput={(event) => {
              setBase(event.currentTarget.value);
              setProfile(null);
            }} />
        </label>
        <label class="field">
          <span>Title</span>
          <input type="text" value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
        </label>
      </details>
      <p class="failed" role="alert">
        {failed}
      </p>
      <div class="dialog-foot">
        <button type="button" class="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={busy}>
          {busy ? "Starting…" : task.trim() ? "Start" : "Create"}
        </button>
      </div>
    </Frame>
  );
}
