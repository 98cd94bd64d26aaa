/** The steps in which the files of a workspace changed, from the events that say they were kept. Pure. */

import type { Event, EventOf } from "@agentrt/client";

export const KEEPING = ["WorkspaceSnapshot", "FilesRestored"] as const;

/** What changed between the files after event `since` and those after event `until`. */
export interface Step {
  since: number;
  until: number;
  by: "agent" | "people" | "rewind" | "unknown";
}

export function isKept(event: Event): event is EventOf<(typeof KEEPING)[number]> {
  return event.type === "WorkspaceSnapshot" || event.type === "FilesRestored";
}

/** The steps, in their order. What happened while no files were kept was done by anyone. */
export function stepsOf(events: readonly Event[]): Step[] {
  const moments = events.filter(isKept).filter((event) => event.tree || (event.type === "WorkspaceSnapshot" && event.off));
  const steps: Step[] = [];
  let last: (typeof moments)[number] | undefined;
  let known = true;
  for (const event of moments) {
    if (event.tree && last) steps.push({ since: placeOf(last), until: placeOf(event), by: known ? whose(event) : "unknown" });
    if (event.tree) last = event;
    known = Boolean(event.tree);
  }
  return steps;
}

/** The step that an event is in, or the last before it. */
export function stepAt(steps: readonly Step[], seq: number): Step | undefined {
  return steps.findLast((step) => step.since < seq) ?? undefined;
}

function placeOf(event: EventOf<(typeof KEEPING)[number]>): number {
  return event.type === "FilesRestored" ? event.seq : event.at;
}

function whose(event: EventOf<(typeof KEEPING)[number]>): Step["by"] {
  if (event.type === "FilesRestored") return "rewind";
  if (event.late) return "unknown";
  return event.when === "after" ? "agent" : "people";
}
