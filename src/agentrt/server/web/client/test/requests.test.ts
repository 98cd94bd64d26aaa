import { expect, test } from "vitest";

import type { components } from "../src/schema.js";

type Create = components["schemas"]["CreateConversation"];

test("a request needs only what is required", () => {
  const message: Create = { message: "Begin." };
  const short: Create = { agent: { llm: "openai/gpt-5.5", tools: ["terminal"] }, message: "Begin." };
  const long: Create = { agent: { llm: { type: "LLM", model: "openai/gpt-5.5" }, tools: [{ name: "terminal" }] } };
  // @ts-expect-error: an agent needs a model
  const without: Create = { agent: { tools: ["terminal"] } };
  expect([message, short, long, without].map((body) => Object.keys(body).length)).toEqual([1, 2, 1, 1]);
});
