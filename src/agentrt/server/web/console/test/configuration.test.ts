import type { Agent, Event, LLM } from "@agentrt/client";
import { expect, it } from "vitest";
import { analyzersOf, configured, policyOf, tagsOf } from "../src/model/configuration";
import { membersOf, switched } from "../src/model/llms";

const AGENT: Agent = { llm: { type: "LLM", model: "a/one" } };
const event = (type: string, fields: Record<string, unknown> = {}): Event => ({ type, seq: 1, id: "x", timestamp: "", ...fields }) as unknown as Event;
const created = event("ConversationCreated", { agent: AGENT });
const rule = (verdict: string, pattern = "*"): Event => event("RuleAdded", { rule: { verdict, tool: "terminal", pattern } });

it("is that of the beginning, with what was changed since", () => {
  const now = configured([
    created,
    event("ConversationStateUpdateEvent", { key: "llm", value: { type: "LLM", model: "a/two" } }),
    event("ConversationStateUpdateEvent", { key: "confirmation", value: { type: "AlwaysConfirm" } }),
    event("SecretsChanged", { secrets: { TOKEN: { type: "StaticSecret" } } }),
    event("BudgetGranted", { amount: 1.5 }),
    event("BudgetGranted", { amount: 2 }),
    event("TitleChanged", { title: "A title" }),
  ]);
  expect(now.agent?.llm).toEqual({ type: "LLM", model: "a/two" });
  expect(now.agent && policyOf(now.agent)).toEqual({ type: "AlwaysConfirm" });
  expect([now.granted, Object.keys(now.secrets), now.title]).toEqual([3.5, ["TOKEN"], "A title"]);
});

it("goes on from where it was", () => {
  const events = [created, rule("allow"), event("BudgetGranted", { amount: 1 }), event("GoalSet", { objective: "Green tests" })];
  for (let at = 0; at <= events.length; at++) expect(configured(events.slice(at), configured(events.slice(0, at)))).toEqual(configured(events));
});

it("has each rule once", () => {
  const now = configured([created, rule("allow", "git *"), rule("deny"), rule("allow", "git *")]);
  expect(now.rules.map(({ rule, origin }) => [rule.verdict, rule.pattern, origin])).toEqual([
    ["allow", "git *", "session"],
    ["deny", "*", "session"],
  ]);
});

it("has no rule that was taken back, until it is added again", () => {
  const removed = event("RuleRemoved", { rule: { verdict: "allow", tool: "terminal", pattern: "git *" } });
  const events = [created, rule("allow", "git *"), rule("deny"), removed];
  expect(configured(events).rules.map(({ rule }) => rule.verdict)).toEqual(["deny"]);
  expect(configured([...events, rule("allow", "git *")]).rules.map(({ rule }) => rule.verdict)).toEqual(["deny", "allow"]);
});

it("knows where a rule came from, and one of the project stays that", () => {
  const given = (scope: string, source: string): Event => event("RuleAdded", { rule: { verdict: "deny", tool: "terminal" }, scope, source });
  const origins = (...events: Event[]) => configured([created, ...events]).rules.map(({ origin }) => origin);
  const [above, here, project] = [given("session", "environment"), given("session", "user"), given("project", "environment")];
  expect([origins(above), origins(here), origins(project)]).toEqual([["above"], ["session"], ["project"]]);
  expect(origins(above, created)).toEqual(["session"]); // of a fork: nothing is above it
  expect([origins(above, here), origins(here, project), origins(project, here)]).toEqual([["session"], ["project"], ["project"]]);
});

it("keeps of what a fork comes from its rules and title, and not what was granted", () => {
  const before = [created, rule("allow"), event("BudgetGranted", { amount: 5 }), event("TitleChanged", { title: "T" }), event("GoalSet", { objective: "G" })];
  const fork = configured([...before, event("ConversationCreated", { agent: AGENT, parent: "p" })]);
  expect([fork.rules.length, fork.granted, fork.title, fork.goal]).toEqual([1, 0, "T", null]);
});

it("counts how often a goal was judged", () => {
  const judged = (success: boolean, midway = false): Event => event("CriticAssessed", { critic: "goal", success, midway, score: 0 });
  const set = event("GoalSet", { objective: "Green tests", max_iterations: 2 });
  expect(configured([created, judged(true)]).goal).toBeNull();
  expect(configured([created, set, judged(false), judged(false, true)]).goal).toMatchObject({ judged: 1, state: "running" });
  expect(configured([created, set, judged(false), judged(false)]).goal).toMatchObject({ state: "capped" });
  expect(configured([created, set, judged(true)]).goal).toMatchObject({ state: "complete" });
  expect(configured([created, set, event("GoalSet", { objective: "" })]).goal).toBeNull();
});

it("knows that who asks has actions rated by the rules", () => {
  expect(analyzersOf(AGENT)).toEqual([]);
  expect(analyzersOf({ ...AGENT, confirmation: { type: "ConfirmRisky" } })).toEqual(["rules"]);
  expect(analyzersOf({ ...AGENT, analyzer: ["rules", "model"] })).toEqual(["rules", "model"]);
});

it("finds the models among which is chosen", () => {
  const [one, two]: LLM[] = [
    { type: "LLM", model: "a" },
    { type: "LLM", model: "b" },
  ];
  expect(membersOf({ type: "RouterLLM", llms: { x: { type: "FallbackLLM", llms: [one!, two!] } } })).toEqual([one, two]);
});

it("keeps of a model's settings those that make sense for another", () => {
  const before: LLM = { type: "LLM", model: "a/one", base_url: "http://here", temperature: 0, input_cost_per_token: 1, max_output_tokens: 9 };
  expect(switched(before, "a/one")).toBe(before);
  expect(switched(before, "a/two")).toEqual({ type: "LLM", model: "a/two", base_url: "http://here", temperature: 0 });
  expect(switched(before, "b/two")).toEqual({ type: "LLM", model: "b/two", temperature: 0 });
});

it("reads tags as they are written", () => {
  expect(tagsOf("team=core, ticket: 12\n")).toEqual({ team: "core", ticket: "12" });
  expect(tagsOf("")).toEqual({});
  expect(tagsOf("Team=core")).toBeNull();
});
