/** Which models answer, and with which settings. Pure. */

import type { AnyLLM, KnownModel, LLM, ModelList } from "@agentrt/client";
import { compact } from "./words";

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

/** Settings that apply to one model only: prices, windows and abilities. */
const OF_ONE_MODEL = [
  ...(["input_cost_per_token", "output_cost_per_token", "cache_read_cost_per_token", "cache_write_cost_per_token"] as const),
  ...(["max_input_tokens", "max_output_tokens", "native_tool_calling", "vision"] as const),
];
const OF_A_PROVIDER = ["base_url", "api_key_env", "extra_headers", "extra_body", "api"] as const;

/** Another model, with the previous settings that still make sense for it. */
export function switched(before: LLM, model: string): LLM {
  if (model === before.model) return before;
  const next: LLM = { ...before, model };
  for (const name of OF_ONE_MODEL) delete next[name];
  if (providerOf(model) !== providerOf(before.model)) for (const name of OF_A_PROVIDER) delete next[name];
  return next;
}

/** Another model at its provider's usual address, whatever the previous address was. */
export function usual(before: LLM, model: string): LLM {
  const next = { ...switched(before, model) };
  for (const name of OF_A_PROVIDER) delete next[name];
  return next;
}

/** A model in the list: its label, its facts and its settings. */
export interface Offered {
  key: string;
  label: string;
  facts: string;
  /** The configured model; null: only the name, at the provider's usual address. */
  llm: AnyLLM | null;
  model: string;
  known?: KnownModel;
}

export type Offer = readonly [title: string, items: readonly Offered[]];

/** The models that match the typed words, configured ones first. */
export function offersOf({ own, profiles, items }: ModelList, used: readonly string[], query: string): Offer[] {
  const words = query.toLowerCase().split(/\s+/);
  const fits = ({ label, model, facts }: Offered): boolean => words.every((word) => `${label} ${model} ${facts}`.toLowerCase().includes(word));
  const saved = [...(own ? [{ ...own, name: "" }] : []), ...profiles].map(({ name, llm, known }): Offered => ({
    key: `profile ${name}`,
    label: name || named(llm),
    facts: [name ? named(llm) : "server default", priceOf(known), addressOf(llm)].filter(Boolean).join(" · "),
    llm,
    model: membersOf(llm)[0]!.model,
    known,
  }));
  const known = items.map((one): Offered => ({ key: `known ${one.model}`, label: one.model, facts: factsOf(one), llm: null, model: one.model, known: one }));
  const names = new Set([...saved, ...known].map(({ model }) => model));
  const others = used.filter((model) => !names.has(model)).map((model): Offered => ({ key: `used ${model}`, label: model, facts: "price unknown", llm: null, model }));
  const offers: Offer[] = [
    ["This server", saved.slice(0, own ? 1 : 0).filter(fits)],
    ["Profiles", saved.slice(own ? 1 : 0).filter(fits)],
    ["Used before", others.filter(fits)],
    ["Known models", known],
  ];
  return offers.filter(([, found]) => found.length > 0);
}

/** The price of a model, per million tokens. */
export function priceOf({ input_cost: given, output_cost: made }: KnownModel): string {
  if (given == null || made == null) return "price unknown";
  return given === 0 && made === 0 ? "free" : `${dollars(given)} in, ${dollars(made)} out per million tokens`;
}

function dollars(cost: number): string {
  const million = cost * 1e6;
  return `$${million >= 100 ? Math.round(million) : Number(million.toPrecision(3))}`;
}

function factsOf(known: KnownModel): string {
  const window = known.max_input_tokens ? `${compact(known.max_input_tokens)} context` : "";
  return [priceOf(known), window, known.vision ? "supports images" : ""].filter(Boolean).join(" · ");
}

function addressOf(llm: AnyLLM): string {
  return [...new Set(membersOf(llm).map((member) => member.base_url ?? ""))].filter(Boolean).join(", ");
}

/** The models that may answer, by name. */
export function named(llm: AnyLLM): string {
  return membersOf(llm).map((member) => member.model).join(" | ");
}

function providerOf(model: string): string {
  return model.includes("/") ? model.slice(0, model.indexOf("/")) : "";
}
