/** The steps in which the files of a workspace changed, from the events that record saved files. Pure. */

import type { Event, EventOf } from "@agentrt/client";

export const KEEPING = ["WorkspaceSnapshot", "FilesRestored"] as const;

/** What changed between the files after event `since` and those after event `until`. */
export interface Step {
  since: number;
  until: number;
  by: "agent" | "people" | "rewind" | "unknown";
  /** When the files were saved after it. */
  time: string;
}

export function isKept(event: Event): event is EventOf<(typeof KEEPING)[number]> {
  return event.type === "WorkspaceSnapshot" || event.type === "FilesRestored";
}

/** The steps, in order. The author of changes is unknown while no files were saved. */
export function stepsOf(events: readonly Event[]): Step[] {
  const moments = events.filter(isKept).filter((event) => event.tree || (event.type === "WorkspaceSnapshot" && event.off));
  const steps: Step[] = [];
  let last: (typeof moments)[number] | undefined;
  let known = true;
  for (const event of moments) {
    if (event.tree && last) steps.push({ since: placeOf(last), until: placeOf(event), by: known ? whose(event) : "unknown", time: event.timestamp });
    if (event.tree) last = event;
    known = Boolean(event.tree);
  }
  return steps;
}

/** The saved files of a conversation: their steps, why saving ended, and what is left out. */
export interface Keeping {
  steps: Step[];
  /** The last event after which they are known; null: after none. */
  last: number | null;
  off: string;
  leftOut: readonly string[];
}

export function keepingOf(events: readonly Event[]): Keeping {
  const kept = events.filter(isKept);
  const moments = kept.filter((event) => event.tree);
  const newest = kept.at(-1);
  const last = moments.at(-1);
  return {
    steps: stepsOf(events),
    last: last ? Math.max(1, placeOf(last)) : null,
    off: newest?.type === "WorkspaceSnapshot" ? (newest.off ?? "") : "",
    leftOut: moments.findLast((event) => event.type === "WorkspaceSnapshot")?.left_out ?? [],
  };
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
