/** The context that an agent gets besides its task, by its log. Pure. */

import type { Event, StateInfo } from "@agentrt/client";
import type { Tool } from "./tools";
import { count } from "./words";

type Resolved = Extract<Event, { type: "ContextResolved" }>;
export type Source = NonNullable<Resolved["sources"]>[number];
export type Offer = NonNullable<Resolved["offers"]>[number];
export type Problem = NonNullable<Resolved["problems"]>[number];

export interface Told {
  sources: readonly Source[];
  /** Programs that run only after a person has approved them. */
  offers: readonly Offer[];
  problems: readonly Problem[];
  /** The files that have changed since they were read. */
  changed: ReadonlySet<string>;
  agreed: ReadonlySet<string>;
  /** Its tools, by the MCP server that provides them; "": the agent itself. */
  tools: ReadonlyMap<string, readonly Tool[]>;
  /** The servers whose tools are found by search instead of being offered with each call. */
  deferred: ReadonlySet<string>;
}

export const NOTHING: Told = { sources: [], offers: [], problems: [], changed: new Set(), agreed: new Set(), tools: new Map(), deferred: new Set() };

/** The context after one more event. */
export function toldAfter(told: Told, event: Event): Told {
  switch (event.type) {
    case "ContextResolved":
      return { ...told, sources: event.sources ?? [], offers: event.offers ?? [], problems: event.problems ?? [] };
    case "ConsentGiven":
      return { ...told, agreed: new Set([...told.agreed, event.digest]) };
    case "ContextChanged":
      return { ...told, changed: new Set([...told.changed, ...event.paths]) };
    case "SystemPromptEvent": {
      const servers = new Set(event.tools.map((tool) => tool.server ?? ""));
      return { ...told, tools: new Map([...servers].map((name) => [name, event.tools.filter((tool) => (tool.server ?? "") === name)])) };
    }
    case "ToolsChanged": {
      const { server, tools = [], deferred } = event;
      const others = [...told.deferred].filter((name) => name !== server);
      return { ...told, tools: new Map([...told.tools, [server, tools]]), deferred: new Set(deferred ? [...others, server] : others) };
    }
    default:
      return told;
  }
}

/** The sources of tools, with their number, the agent's own first. */
export function toolsOf(told: Told): [title: string, tools: readonly Tool[]][] {
  const bySource = [...told.tools].filter(([, tools]) => tools.length > 0).sort(([one], [other]) => (one < other ? -1 : 1));
  return bySource.map(([server, tools]) => {
    const from = server === "" ? "The agent’s own" : `From the MCP server ${server}`;
    return [`${from}: ${tools.length}${told.deferred.has(server) ? ", found by search" : ""}`, tools];
  });
}

/** The first sentence of a tool's description. */
export function briefOf({ description = "" }: Tool): string {
  const first = description.trim().split(/(?<=[.!?])\s|\n/)[0] ?? "";
  return first.length > 200 ? `${first.slice(0, 200)}…` : first;
}

/** What waits for a person's approval. */
export function unagreed(told: Told): Offer[] {
  return told.offers.filter((offer) => !offer.agreed && !told.agreed.has(offer.digest));
}

const KINDS: Record<Source["kind"], string> = {
  instructions: "Instructions",
  skill: "Skills",
  agent: "Agents",
  memory: "Memory",
  plugin: "Plugins",
  hooks: "Hooks",
  servers: "MCP servers",
  commands: "Commands",
  condenser: "Condensers with a model of their own",
};

/** The sources of each kind, in the order in which a person looks for them. */
export function byKind(told: Told): [string, Source[]][] {
  return Object.entries(KINDS)
    .map(([kind, title]): [string, Source[]] => [title, told.sources.filter((source) => source.kind === kind)])
    .filter(([, sources]) => sources.length > 0);
}

/** About how many tokens are in every prompt. */
export function always(told: Told): number {
  return told.sources.reduce((sum, source) => sum + (source.when === "always" || source.when === "listed" ? (source.tokens ?? 0) : 0), 0);
}

export type Usage = StateInfo["context"];

/** How full the model’s context window is, in words. */
export function fullness(usage: Usage): string {
  const share = usage.window > 0 ? ` of ${usage.window.toLocaleString("en")} tokens (${Math.round((100 * usage.tokens) / usage.window)}%)` : " tokens";
  return `About ${usage.tokens.toLocaleString("en")}${share} in ${count(usage.events, "event")}`;
}

/** At which size it is summarized. */
export function bounds(usage: Usage): string {
  const most = [usage.max_tokens ? count(usage.max_tokens, "token") : "", usage.max_events ? count(usage.max_events, "event") : ""].filter(Boolean);
  return most.length > 0 ? `Summarized automatically at ${most.join(" or ")}` : "Never summarized automatically";
}

/** When a source is shown, and how much it takes. */
export function factsOf(source: Source): string {
  return [source.tokens ? count(source.tokens, "token") : "", source.when ?? "", source.origin ?? "project", source.by ? `written by ${source.by}` : ""].filter((fact) => fact !== "").join(" · ");
}
