/** Which models answer, and with which settings. Pure. */

import type { AnyLLM, LLM } from "@agentrt/client";

/** The models that may answer, the first choice first. */
export function membersOf(llm: AnyLLM): LLM[] {
  switch (llm.type) {
    case "LLM":
      return [llm];
    case "FallbackLLM":
      return llm.llms.flatMap(membersOf);
    case "RouterLLM":
      return Object.values(llm.llms).flatMap(membersOf);
  }
}

/** What was known of one model alone: its prices, windows and abilities. */
const OF_ONE_MODEL = [
  ...(["input_cost_per_token", "output_cost_per_token", "cache_read_cost_per_token", "cache_write_cost_per_token"] as const),
  ...(["max_input_tokens", "max_output_tokens", "native_tool_calling", "vision"] as const),
];
const OF_A_PROVIDER = ["base_url", "api_key_env", "extra_headers", "extra_body", "api"] as const;

/** Another model, with those settings of the one before that still make sense for it. */
export function switched(before: LLM, model: string): LLM {
  if (model === before.model) return before;
  const next: LLM = { ...before, model };
  for (const name of OF_ONE_MODEL) delete next[name];
  if (providerOf(model) !== providerOf(before.model)) for (const name of OF_A_PROVIDER) delete next[name];
  return next;
}

function providerOf(model: string): string {
  return model.includes("/") ? model.slice(0, model.indexOf("/")) : "";
}
