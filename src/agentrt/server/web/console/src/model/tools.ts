/** The declarations of tools, and calls described by them. Pure. */

import type { ToolDefinition } from "@agentrt/client";
import { capitalized } from "./words";

export type Tool = Partial<ToolDefinition> & { name: string };

/** The label of a tool: its title, or its name in words. */
export function labelOf(tool: Tool): string {
  return tool.annotations?.title || capitalized(tool.name.replaceAll("_", " "));
}

/** A call on one line: the first template of the tool that fits it, or its arguments as they were sent. */
export function headline(tool: Tool, given: Record<string, unknown>): string {
  const template = tool.headline?.find((one) => [...one.matchAll(NAMED)].every(([, name, mark]) => fits(given[name!], mark)));
  if (template !== undefined) return template.replace(NAMED, (_, name: string, mark?: string) => (mark ? "" : wordOf(given[name])));
  const shown = JSON.stringify(given);
  return shown === "{}" ? "" : shown.length > 200 ? `${shown.slice(0, 200)}…` : shown;
}

const NAMED = /\{(\w+)(:empty|:true)?\}/g;

function fits(value: unknown, mark: string | undefined): boolean {
  if (mark === ":true") return Boolean(value) && value !== "0" && String(value).toLowerCase() !== "false";
  return mark ? value === "" : wordOf(value) !== "";
}

function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
