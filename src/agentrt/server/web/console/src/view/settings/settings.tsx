import { type FunctionComponent } from "preact";
import { analyzersOf, type Configuration, policyOf } from "../../model/configuration";
import { membersOf } from "../../model/llms";
import { count, money, titleOf } from "../../model/words";
import type { Open } from "../../state/open";
import { Approvals } from "./approvals";
import { Budget } from "./budget";
import { type Configured, useConfiguration } from "./configured";
import { General } from "./general";
import { GoalSection } from "./goal";
import { Model } from "./model";
import { Rules } from "./rules";
import { Secrets } from "./secrets";
import { Tabs } from "./tabs";

export interface SectionProps {
  conversation: Open;
  configured: Configured;
}

interface Section {
  name: string;
  Content: FunctionComponent<SectionProps>;
  /** The current value, in a few words. */
  now: (found: Configuration, conversation: Open) => string;
}

const POLICIES = { ConfirmRisky: "ask if risky", AlwaysConfirm: "always ask", NeverConfirm: "never ask" };

const SECTIONS: Section[] = [
  { name: "General", Content: General, now: (_, { info }) => (info.value ? titleOf(info.value) : "") },
  { name: "Model", Content: Model, now: ({ agent }) => (agent ? membersOf(agent.llm)[0]!.model : "") },
  { name: "Approval", Content: Approvals, now: ({ agent }) => (agent ? `${POLICIES[policyOf(agent).type]}${analyzersOf(agent).includes("model") ? ", rated by model" : ""}` : "") },
  { name: "Rules", Content: Rules, now: ({ agent, rules }) => count((agent?.rules ?? []).length + rules.length, "rule") },
  { name: "Goal", Content: GoalSection, now: ({ goal }) => goal?.objective ?? "none" },
  { name: "Budget", Content: Budget, now: ({ agent, granted }) => (agent?.limits?.max_cost == null ? "no limit" : money(agent.limits.max_cost + granted)) },
  { name: "Secrets", Content: Secrets, now: ({ secrets }) => Object.keys(secrets).join(", ") || "none" },
];

let last = 0;

/** The settings of a conversation: one tab per subject. */
export function Settings({ conversation }: { conversation: Open }) {
  const configured = useConfiguration(conversation);
  const { found, failed } = configured;
  const tabs = SECTIONS.map(({ name, now, Content }) => ({
    name,
    now: found ? now(found, conversation) : "",
    content: () =>
      failed ? <p class="tone-danger">{failed}</p> : found ? <Content key={name} conversation={conversation} configured={configured} /> : <p class="hint">Loading…</p>,
  }));
  return <Tabs label="Settings" tabs={tabs} first={last} onChoose={(at) => (last = at)} />;
}
