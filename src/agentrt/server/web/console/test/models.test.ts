import type { KnownModel, ModelList } from "@agentrt/client";
import { expect, it } from "vitest";
import { offersOf, priceOf, usual } from "../src/model/llms";

const known = (model: string, input: number | null = null, output: number | null = null): KnownModel => ({ model, vision: false, max_input_tokens: null, max_output_tokens: null, input_cost: input, output_cost: output });
const found: ModelList = {
  own: { name: "", llm: { type: "LLM", model: "openai/house", base_url: "http://house/v1" }, known: known("openai/house") },
  profiles: [{ name: "both", llm: { type: "FallbackLLM", llms: [{ type: "LLM", model: "x/one" }, { type: "LLM", model: "x/two" }] }, known: known("x/one", 1e-6, 5e-6) }],
  items: [known("openai/gpt", 2.5e-7, 2e-6)],
  truncated: false,
};

it("says what a million tokens cost, and where nobody knows", () => {
  expect(priceOf(known("a"))).toBe("price unknown");
  expect(priceOf(known("a", 1e-6))).toBe("price unknown");
  expect(priceOf(known("a", 0, 0))).toBe("free");
  expect(priceOf(known("a", 2.5e-7, 0.000_15))).toBe("$0.25 in, $150 out per million tokens");
});

it("offers what is configured here before what is known by name", () => {
  expect(offersOf(found, ["x/used", "openai/gpt"], "").map(([title, items]) => [title, items.map(({ label }) => label)])).toEqual([
    ["This server", ["openai/house"]],
    ["Profiles", ["both"]],
    ["Used before", ["x/used"]],
    ["Known models", ["openai/gpt"]],
  ]);
  const [[, [own]], [, [profile]]] = offersOf(found, [], "") as never as [[string, [{ facts: string }]], [string, [{ facts: string }]]];
  expect(own.facts).toBe("server default · price unknown · http://house/v1");
  expect(profile.facts).toBe("x/one | x/two · $1 in, $5 out per million tokens");
  expect(offersOf(found, ["x/used"], "BOTH").map(([title]) => title)).toEqual(["Profiles", "Known models"]);
});

it("leaves the address of the one before, for a model at its usual place", () => {
  expect(usual({ type: "LLM", model: "openai/house", base_url: "http://house/v1", temperature: 0.5 }, "openai/gpt")).toEqual({ type: "LLM", model: "openai/gpt", temperature: 0.5 });
});
