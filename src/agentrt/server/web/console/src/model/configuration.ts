/** The settings of a conversation. Pure. */

import type { Agent, ConfirmationPolicy, EventType, StateInfo } from "@agentrt/client";

export type Configuration = StateInfo;
/** Where a rule came from: "above" is the conversation that delegates this one. */
export type Origin = NonNullable<StateInfo["rules"][number]["origin"]>;

/** The events that change the settings. */
export const TELLING = new Set<EventType>([
  "ConversationCreated",
  "ConversationStateUpdateEvent",
  "RuleAdded",
  "RuleRemoved",
  "GoalSet",
  "CriticAssessed",
  "BudgetGranted",
  "SecretsChanged",
  "TitleChanged",
]);

export function policyOf(agent: Agent): ConfirmationPolicy {
  return agent.confirmation ?? { type: "NeverConfirm" };
}

/** What rates actions: the fixed rules if ratings are needed and nothing else is named. */
export function analyzersOf(agent: Agent): string[] {
  const named = typeof agent.analyzer === "string" ? [agent.analyzer] : [...(agent.analyzer ?? [])];
  const asks = policyOf(agent).type !== "NeverConfirm" || agent.flow != null;
  return named.length === 0 && asks ? ["rules"] : named;
}

/** Tags written as "a=b, c=d" or one per line; null if they cannot be read. */
export function tagsOf(text: string): Record<string, string> | null {
  const tags: Record<string, string> = {};
  for (const part of text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean)) {
    const [, name, value] = /^([a-z0-9]+)\s*[=:]\s*(.*)$/.exec(part) ?? [];
    if (name === undefined || value === undefined) return null;
    tags[name] = value;
  }
  return tags;
}
