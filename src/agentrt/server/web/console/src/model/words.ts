/** Plain words for the codes and the JSON in events. Pure. */

import type { ConversationInfo, Risk, Status } from "@agentrt/client";

const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text without control characters, and without those that turn the direction of writing. */
export function clean(text: string): string {
  return text.replace(CONTROL, "");
}

/** Whether a conversation runs, or waits for an answer to go on. */
export function atWork(status: Status | undefined): boolean {
  return status === "running" || status === "waiting_for_confirmation" || status === "waiting_for_client";
}

export const STATUS: Record<Status, string> = {
  idle: "Idle",
  running: "Running",
  paused: "Paused",
  waiting_for_confirmation: "Needs approval",
  waiting_for_client: "Waiting for client",
  finished: "Finished",
  error: "Error",
  stuck: "Stuck",
  crashed: "Interrupted by a crash",
  damaged: "Damaged",
};

export const RISK: Record<Risk, string> = { LOW: "Low risk", MEDIUM: "Medium risk", HIGH: "High risk", UNKNOWN: "Unknown risk" };

/** The title of a conversation: as set or from its first words, else the name of its directory. */
export function titleOf(info: ConversationInfo): string {
  const directory = info.workspace.split("/").at(-1) ?? "";
  return info.title || (directory === info.id ? "" : directory) || "New conversation";
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const CAUSES: Record<string, string> = {
  web: "content from the web",
  mcp: "content from an MCP server",
  outside: "a file outside the workspace",
};
const EFFECTS: Record<string, string> = {
  network: "it uses the network",
  secrets: "it reads or uses a secret",
  push: "it publishes something",
  outside: "it writes outside the workspace",
};

/** Why an action needs approval, by the code in `ConfirmationRequested`. */
export function whyAsked(code: string): string {
  if (code === "" || code === "risk") return "at this risk level";
  if (code === "every") return "because every action is asked about";
  if (code === "rule") return "because of a rule";
  if (code === "hook") return "because of a hook";
  if (code === "unconfined") return "because it leaves what confines the other commands";
  const [kind, flow = ""] = splitOnce(code, ":");
  if (kind === "lost") {
    return `again, because the ${flow} was restarted: its variables, directory and running processes are gone`;
  }
  if (kind !== "flow") return `because of ${code}`;
  const [cause, sink = ""] = splitOnce(flow, ">");
  const content = CAUSES[cause] ?? `content from “${cause}”`;
  return `because ${content} may have caused it, and ${EFFECTS[sink] ?? "its effects are unknown"}`;
}

function splitOnce(text: string, by: string): [string, string?] {
  const place = text.indexOf(by);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + by.length)];
}

export function money(dollars: number): string {
  return `$${dollars.toFixed(dollars >= 100 ? 0 : dollars >= 1 ? 2 : 4)}`;
}

/** What was spent. Calls without a known price are counted separately, since they were not free. */
export function spentOf({ cost, unpriced }: { cost: number; unpriced: number }): string {
  if (unpriced === 0) return money(cost);
  return cost > 0 ? `${money(cost)} + ${unpriced} unpriced` : "price unknown";
}

/** A number with at most three significant digits. */
export function compact(number: number): string {
  if (number < 1000) return String(number);
  const [value, unit] = number < 999_500 ? [number / 1000, "k"] : [number / 1_000_000, "M"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}${unit}`;
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

export function seconds(from: string, to: string): string {
  const span = (Date.parse(to) - Date.parse(from)) / 1000;
  if (!(span >= 0.05)) return "";
  if (span < 60) return `${span.toFixed(1)} s`;
  return `${Math.floor(span / 60)} min ${Math.round(span % 60)} s`;
}

/** How long ago, in short form. */
export function ago(time: string | null | undefined, now: number): string {
  const span = (now - Date.parse(time ?? "")) / 1000;
  if (!Number.isFinite(span)) return "";
  if (span < 45) return "now";
  if (span < 3570) return `${Math.max(1, Math.round(span / 60))} min`;
  if (span < 84_600) return `${Math.round(span / 3600)} h`;
  if (span < 6.5 * 86_400) return `${Math.round(span / 86_400)} d`;
  return new Date(now - span * 1000).toLocaleDateString("en", { month: "short", day: "numeric" });
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}
