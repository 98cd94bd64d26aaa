/** Events that are shown as one line. Pure. */

import type { AnyLLM, ConfirmationPolicy, Event, EventOf, PermissionRule } from "@agentrt/client";
import { membersOf } from "./llms";
import type { Tone } from "./transcript";
import { capitalized, count } from "./words";

const POLICY: Partial<Record<string, string>> = {
  ConfirmRisky: "Approval: ask about risky actions",
  AlwaysConfirm: "Approval: ask about every action",
  NeverConfirm: "Approval: never ask",
};

export interface Notice {
  tone: Tone;
  text: string;
  detail?: string;
  /** Of an error: if the run ends with the same code, only that notice is shown. */
  code?: string;
}

/** The line of an event; undefined for bookkeeping. */
export function noticeOf(event: Event): Notice | undefined {
  switch (event.type) {
    case "InterruptEvent":
      return { tone: "warning", text: event.goes_on ? "Interrupted by a message" : `Interrupted${because(event.reason)}` };
    case "PauseEvent":
      return { tone: "quiet", text: `Paused${because(event.reason)}` };
    case "ConversationErrorEvent":
      return { tone: "danger", text: capitalized(event.code.replaceAll(/[_-]/g, " ")), detail: event.detail, code: event.code };
    case "StuckDetected":
      return {
        tone: event.nudge ? "warning" : "danger",
        text: event.nudge ? "The agent repeats itself, and was warned" : "Stopped: the agent repeats itself",
        ...(event.detail ? { detail: event.detail } : {}),
      };
    case "ModelCallRetried":
      return { tone: "warning", text: retried(event), detail: event.detail };
    case "ModelCalled":
      if (event.error === "interrupted") return undefined; // the interrupt itself has a line
      return event.error ? { tone: "warning", text: `The model call failed: ${event.error}`, code: event.error } : undefined;
    case "ResourceLost":
      return { tone: "warning", text: event.detail };
    case "CriticAssessed":
      return judged(event);
    case "WorkspaceSnapshot":
      return event.off ? { tone: "warning", text: `Files are not saved for rewinds: ${event.off}` } : undefined;
    case "FilesRestored":
      return restored(event);
    case "CommandStarted":
      return { tone: "quiet", text: `${event.by ?? "A person or program"} ran a command`, detail: event.command_line };
    case "CommandEnded":
      return ended(event);
    case "GoalSet":
      return { tone: "quiet", text: event.objective ? `Goal: ${event.objective}` : "Goal removed" };
    case "HookExecutionEvent":
      return event.verdict === "deny" || event.verdict === "ask"
        ? { tone: "warning", text: `${event.verdict === "ask" ? "A hook asks for approval" : "Blocked by a hook"}${because(event.reason)}` }
        : undefined;
    default:
      return settings(event);
  }
}

function judged(event: EventOf<"CriticAssessed">): Notice {
  if (event.error) return { tone: "warning", text: `Critic ${event.critic} failed`, detail: event.error };
  const goal = event.critic === "goal";
  const verdict = event.success ? (goal ? "Goal reached" : "Good enough") : goal ? "Goal not reached yet" : "Not good enough yet";
  return {
    tone: event.success ? "good" : "warning",
    text: `${verdict} (score ${event.score.toFixed(2)}${goal ? "" : `, critic ${event.critic}`})`,
    ...(event.message ? { detail: event.message } : {}),
  };
}

function settings(event: Event): Notice | undefined {
  switch (event.type) {
    case "RuleAdded":
      return { tone: "quiet", text: `Rule added for this ${event.scope === "project" ? "project" : "conversation"}: ${ruleWords(event.rule)}` };
    case "RuleRemoved":
      return { tone: "quiet", text: `Rule removed for this ${event.scope === "project" ? "project" : "conversation"}: ${ruleWords(event.rule)}` };
    case "SkillActivated":
      return { tone: "quiet", text: `Skill: ${event.skill}` };
    case "ContextChanged":
      return { tone: "warning", text: `Context files changed since they were read: ${event.paths.join(", ")}` };
    case "ToolsChanged":
      if (event.changed?.length) return { tone: "warning", text: `MCP server ${event.server}: tool definitions changed since they were first seen: ${event.changed.join(", ")}` };
      return event.problem
        ? { tone: "warning", text: `MCP server ${event.server}: ${event.problem}` }
        : { tone: "quiet", text: `MCP server ${event.server}: ${count(event.tools?.length ?? 0, "tool")}` };
    case "ContextResolved":
      return event.problems?.length ? { tone: "warning", text: `${count(event.problems.length, "context file")} could not be used`, detail: event.problems.map((one) => `${one.path}: ${one.what}`).join("\n") } : undefined;
    case "ConsentGiven":
      return { tone: "quiet", text: `Programs approved to run: digest ${event.digest.slice(0, 12)}` };
    case "ChildMessaged":
      return { tone: "quiet", text: `Message to a delegated conversation: ${event.message}` };
    case "TitleChanged":
      return { tone: "quiet", text: `Title: ${event.title}` };
    case "TagsChanged":
      return { tone: "quiet", text: `Tags: ${Object.entries(event.tags).map(([key, value]) => `${key}=${value}`).join(", ") || "none"}` };
    case "SecretsChanged":
      return { tone: "quiet", text: `Secrets: ${Object.keys(event.secrets).join(", ") || "none"}` };
    case "BudgetGranted":
      return { tone: "quiet", text: `$${event.amount.toFixed(2)} added to the budget` };
    case "ConversationStateUpdateEvent":
      return { tone: "quiet", text: changeWords(event.key, event.value) };
    case "ConversationCreated":
      return event.parent ? { tone: "quiet", text: "Forked from another conversation" } : undefined;
    default:
      return undefined;
  }
}

/** What a condensation removed from the model’s context. */
export function condensedWords(event: EventOf<"Condensation">): string {
  const gone = event.forgotten_event_ids?.length ?? 0;
  const hidden = event.masked_event_ids?.length ?? 0;
  const parts = [gone > 0 ? count(gone, "event") : "", hidden > 0 ? `the output of ${count(hidden, "result")}` : ""].filter(Boolean);
  if (parts.length === 0) return "Nothing was removed from the model’s context";
  const sizes = event.tokens_before ? ` (${event.tokens_before.toLocaleString("en")} → ${(event.tokens_after ?? 0).toLocaleString("en")} tokens)` : "";
  return `Removed from the model’s context: ${parts.join(" and ")}${sizes}`;
}

/** Which setting was changed. */
function changeWords(key: string, value: unknown): string {
  switch (key) {
    case "llm":
      return `Model: ${[...new Set(membersOf(value as AnyLLM).map((member) => member.model))].join(" | ")}`;
    case "confirmation":
      return POLICY[(value as ConfirmationPolicy).type] ?? "Approval setting changed";
    case "analyzer":
      return `Risk analyzers: ${value === null ? "none" : [value].flat().join(", ")}`;
    case "limits": {
      const { max_cost: most } = value as { max_cost?: number | null };
      return most == null ? "Limits changed: no cost limit" : `Limits changed: $${most.toFixed(2)} in total`;
    }
    default:
      return `Changed: ${key.replaceAll("_", " ")}`;
  }
}

function retried(event: Extract<Event, { type: "ModelCallRetried" }>): string {
  const other = event.next_model === event.model ? "" : ` with ${event.next_model}`;
  return `${event.model} failed (${event.code}): retrying${other} ${event.wait ? `in ${event.wait.toFixed(1)} s` : "immediately"}`;
}

function ended(event: Extract<Event, { type: "CommandEnded" }>): Notice {
  const detail = [event.stdout, event.stderr].filter(Boolean).join("\n");
  const how = event.lost
    ? "The command was cut off: its outcome is unknown"
    : event.timeout_occurred
      ? "The command reached its time limit"
      : `The command ended with exit code ${event.exit_code}`;
  return { tone: event.exit_code ? "warning" : "quiet", text: how, ...(detail ? { detail } : {}) };
}

function restored(event: Extract<Event, { type: "FilesRestored" }>): Notice {
  if (event.error) return { tone: "danger", text: "Some files could not be restored", detail: [event.error, restoredDetail(event)].filter(Boolean).join("\n") };
  const unknown = event.unknown_count ?? 0;
  const theirs = (event.left_count ?? 0) - unknown;
  const text = [`${count(event.files ?? 0, "file")} restored to event ${event.to}`];
  if (theirs) text.push(`${count(theirs, "file")} kept because people changed ${theirs === 1 ? "it" : "them"}`);
  if (unknown) text.push(`${count(unknown, "file")} kept because ${unknown === 1 ? "its" : "their"} earlier content or author is unknown`);
  const detail = restoredDetail(event);
  return { tone: text.length > 1 ? "warning" : "quiet", text: text.join("; "), ...(detail ? { detail } : {}) };
}

/** The files by name: those that were kept, and those that were restored although their author is unknown. */
function restoredDetail(event: Extract<Event, { type: "FilesRestored" }>): string {
  const unknown = new Set(event.unknown ?? []);
  const theirs = (event.left ?? []).filter((path) => !unknown.has(path));
  const during = (event.during ?? []).map((step) => ({ title: `Restored, although people may have changed them while event ${step.calls.join(", ")} ran:`, paths: step.paths }));
  if (unknown.size === 0 && during.length === 0) return theirs.join("\n");
  return [
    { title: "Kept because people changed them:", paths: theirs },
    { title: "Kept because their earlier content or author is unknown:", paths: [...unknown] },
    ...during,
  ]
    .filter(({ paths }) => paths.length > 0)
    .flatMap(({ title, paths }) => [title, ...paths])
    .join("\n");
}

function ruleWords(rule: PermissionRule): string {
  return `${rule.verdict} ${rule.tool ?? "*"} ${rule.pattern ?? "*"}`;
}

function because(reason: string | undefined): string {
  return reason ? `: ${reason}` : "";
}
