import type { Agent, ServerSecret } from "@agentrt/client";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { named } from "../../model/llms";
import { count } from "../../model/words";
import { introduce, reasonOf, rest } from "../../state/session";
import { type Requests, useRequests } from "../settings/parts";
import { type Tab, Tabs } from "../settings/tabs";
import { Instructions } from "./instructions";
import { Keys } from "./keys";
import { Model } from "./model";
import { Servers } from "./servers";
import { Skills } from "./skills";

/** The settings of the server, as they were read last. */
export interface Known {
  agent: Agent | null;
  /** What was changed of the agent here, such as "llm" and "mcp_servers/tracker". */
  changed: readonly string[];
  secrets: readonly ServerSecret[];
}

export interface SectionProps {
  known: Known;
  refresh: () => Promise<void>;
}

const SECTIONS: { name: string; now: (known: Known) => string; Content: (props: SectionProps) => ComponentChildren }[] = [
  { name: "Model", now: ({ agent }) => (agent ? named(agent.llm) : "none"), Content: Model },
  { name: "Keys", now: ({ secrets }) => count(secrets.filter((one) => one.source !== "none").length, "key"), Content: Keys },
  { name: "Instructions", now: ({ agent }) => (agent?.system_prompt ? "own prompt" : agent?.context?.system_message_suffix ? "added" : "built-in prompt"), Content: Instructions },
  { name: "MCP servers", now: ({ agent }) => Object.keys(agent?.mcp_servers ?? {}).join(", ") || "none", Content: Servers },
  { name: "Skills", now: ({ agent }) => (agent?.context?.skills ?? []).map(({ name }) => name).join(", ") || "none", Content: Skills },
];

let last = 0;

/** What new conversations begin with: one tab per subject. */
export function ServerSettings({ tab }: { tab: string }) {
  const [known, setKnown] = useState<Known | null>(null);
  const [failed, setFailed] = useState("");
  const refresh = useCallback(async () => {
    try {
      const [{ agent, changed }, { items }] = await Promise.all([rest.serverAgent(), rest.serverSecrets()]);
      setKnown({ agent, changed, secrets: items });
      setFailed("");
      void introduce();
    } catch (error) {
      setFailed(reasonOf(error));
    }
  }, []);
  useEffect(() => void refresh(), []);
  const first = SECTIONS.findIndex(({ name }) => name === tab);
  const tabs = SECTIONS.map(({ name, now, Content }): Tab => ({
    name,
    now: known ? now(known) : "",
    content: () => (known ? <Content key={name} known={known} refresh={refresh} /> : <p class={failed ? "tone-danger" : "hint"}>{failed || "Loading…"}</p>),
  }));
  return <Tabs label="Settings of the server" tabs={tabs} first={first < 0 ? last : first} onChoose={(at) => (last = at)} />;
}

/** Changes of the server's agent. */
export interface Changing extends Requests {
  change: (changes: Record<string, unknown>, done?: string) => Promise<boolean>;
  reset: (fields: string[]) => Promise<boolean>;
}

export function useChanging(refresh: () => Promise<void>): Changing {
  const requests = useRequests(refresh);
  return {
    ...requests,
    change: (changes, done) => requests.save(() => rest.changeServerAgent(changes), done),
    reset: (fields) => requests.save(() => rest.changeServerAgent({}, fields), "As the server was started"),
  };
}

/** Sets fields back to what the server was started with, if they were changed here. */
export function Reset({ fields, known, saving }: { fields: string[]; known: Known; saving: Changing }) {
  if (!fields.some((field) => known.changed.some((path) => path === field || path.startsWith(`${field}/`)))) return null;
  return (
    <button type="button" class="button" disabled={saving.busy} onClick={() => void saving.reset(fields)}>
      Undo changes
    </button>
  );
}
