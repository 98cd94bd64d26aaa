/** How a conversation is set up now, as its events tell. Pure. */

import type { Agent, ConfirmationPolicy, Event, EventOf, EventType, PermissionRule, SavedSecret } from "@agentrt/client";

/** The events that say how it is set up. None of them is taken back by a rewind. */
export const TELLING: EventType[] = [
  "ConversationCreated",
  "ConversationStateUpdateEvent",
  "RuleAdded",
  "RuleRemoved",
  "GoalSet",
  "CriticAssessed",
  "BudgetGranted",
  "SecretsChanged",
  "TitleChanged",
];

export interface Goal {
  set: EventOf<"GoalSet">;
  judged: number;
  state: "running" | "complete" | "capped";
}

/** Where a rule came from: "above" is the conversation that delegates this one. */
export type Origin = "session" | "project" | "above";

export interface Configuration {
  agent: Agent | null;
  /** Rules that were added, each once, on top of those of the agent. */
  rules: { rule: PermissionRule; origin: Origin }[];
  goal: Goal | null;
  /** USD on top of the limit. */
  granted: number;
  secrets: Record<string, SavedSecret>;
  /** The title that it was given, "" where it has none. */
  title: string;
}

export const NOTHING: Configuration = { agent: null, rules: [], goal: null, granted: 0, secrets: {}, title: "" };

export function configured(events: Iterable<Event>, start: Configuration = NOTHING): Configuration {
  let found = start;
  for (const event of events) found = after(found, event);
  return found;
}

function after(now: Configuration, event: Event): Configuration {
  switch (event.type) {
    case "ConversationCreated":
      // that of a fork keeps what may be done, with nothing above it, and has spent and was granted nothing
      return { ...NOTHING, agent: event.agent, rules: now.rules.map((one) => (one.origin === "above" ? { ...one, origin: "session" } : one)), title: now.title };
    case "ConversationStateUpdateEvent":
      return now.agent === null ? now : { ...now, agent: { ...now.agent, [event.key]: event.value } };
    case "RuleAdded":
      return { ...now, rules: added(now.rules, event) };
    case "RuleRemoved":
      return { ...now, rules: now.rules.filter(({ rule }) => !same(rule, event.rule)) };
    case "GoalSet":
      return { ...now, goal: event.objective === "" ? null : { set: event, judged: 0, state: "running" } };
    case "CriticAssessed":
      return event.critic === "goal" && !event.midway && now.goal !== null ? { ...now, goal: assessed(now.goal, event.success) } : now;
    case "BudgetGranted":
      return { ...now, granted: now.granted + event.amount };
    case "SecretsChanged":
      return { ...now, secrets: event.secrets };
    case "TitleChanged":
      return { ...now, title: event.title };
    default:
      return now;
  }
}

function assessed(goal: Goal, success: boolean): Goal {
  const judged = goal.judged + 1;
  const state = success ? "complete" : judged >= (goal.set.max_iterations ?? 10) ? "capped" : "running";
  return { ...goal, judged, state };
}

function added(rules: Configuration["rules"], event: EventOf<"RuleAdded">): Configuration["rules"] {
  const scope = event.scope ?? "session";
  const origin: Origin = scope === "session" && event.source === "environment" ? "above" : scope;
  const known = rules.find(({ rule }) => same(rule, event.rule));
  if (known === undefined) return [...rules, { rule: event.rule, origin }];
  const first = (["project", "session", "above"] as const).find((one) => one === origin || one === known.origin)!;
  return rules.map((one) => (one === known && one.origin !== first ? { ...one, origin: first } : one));
}

function same(one: PermissionRule, other: PermissionRule): boolean {
  const words = (rule: PermissionRule): string => [rule.verdict, rule.tool ?? "*", rule.pattern ?? "*", rule.argument ?? ""].join("\n");
  return words(one) === words(other);
}

export function policyOf(agent: Agent): ConfirmationPolicy {
  return agent.confirmation ?? { type: "NeverConfirm" };
}

/** Who rates actions; whoever asks for ratings has the rules at the least. */
export function analyzersOf(agent: Agent): string[] {
  const named = typeof agent.analyzer === "string" ? [agent.analyzer] : [...(agent.analyzer ?? [])];
  const asks = policyOf(agent).type !== "NeverConfirm" || agent.flow != null;
  return named.length === 0 && asks ? ["rules"] : named;
}

/** "a=b, c=d" or a line each as tags; null where that makes none. */
export function tagsOf(text: string): Record<string, string> | null {
  const tags: Record<string, string> = {};
  for (const part of text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean)) {
    const [, name, value] = /^([a-z0-9]+)\s*[=:]\s*(.*)$/.exec(part) ?? [];
    if (name === undefined || value === undefined) return null;
    tags[name] = value;
  }
  return tags;
}
