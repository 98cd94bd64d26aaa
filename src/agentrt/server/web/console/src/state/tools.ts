/** The tools that conversations have, as their logs declare them. */

import type { Event } from "@agentrt/client";
import { signal } from "@preact/signals";
import type { Tool } from "../model/tools";

export const tools = signal<ReadonlyMap<string, Tool>>(new Map());

/** Learn the tools that events declare. */
export function learn(events: Iterable<Event>): void {
  for (const event of events)
    if (event.type === "SystemPromptEvent") tools.value = new Map([...tools.value, ...event.tools.map((tool) => [tool.name, tool] as const)]);
}

/** What is known of a tool. */
export function toolOf(name: string): Tool {
  return tools.value.get(name) ?? { name };
}
