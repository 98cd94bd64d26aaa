import type { Agent, LLM } from "@agentrt/client";
import { expect, it } from "vitest";
import { analyzersOf, tagsOf } from "../src/model/configuration";
import { membersOf, switched } from "../src/model/llms";

const AGENT: Agent = { llm: { type: "LLM", model: "a/one" } };

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
