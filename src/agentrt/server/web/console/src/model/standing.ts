/** The state of a conversation after more events: its status, by the server's own table, and its usage. Pure. */

import type { ConversationInfo, Event, EventOf } from "@agentrt/client";
import { CHANGES, type Change } from "./changes";

type Status = ConversationInfo["status"];

/** The status after an event. A crashed conversation was running before. */
export function statusAfter(status: Status, event: Event): Status {
  const before = status === "crashed" ? "running" : status;
  const change = CHANGES.find((one) => one.event === event.type && (one.of.length === 0 || one.of.includes(before)) && has(event, one));
  if (change === undefined) return status;
  return (change.to ?? (event as EventOf<"RunEnded">).status) as Status;
}

function has(event: Event, { having }: Change): boolean {
  return having === null || ((event as unknown as Record<string, unknown>)[having[0]] ?? false) === having[1];
}

/** The facts of a conversation, updated by a new event. */
export function after(info: ConversationInfo, event: Event): ConversationInfo {
  const seq = event.seq ?? 0;
  if (seq <= (info.cursor.seq ?? 0)) return info;
  const status = statusAfter(info.status, event);
  const pending = status === "waiting_for_confirmation" ? info.pending : [];
  const now = { ...info, status, pending, cursor: { ...info.cursor, seq }, updated: event.timestamp };
  switch (event.type) {
    case "ConversationErrorEvent":
      return { ...now, error: { code: event.code, detail: event.detail, retryable: event.retryable ?? false } };
    case "RunRequested":
      return info.status === now.status ? now : { ...now, error: null };
    case "TitleChanged":
      return { ...now, title: event.title || info.title };
    case "TagsChanged":
      return { ...now, tags: event.tags };
    case "ModelCalled":
    case "ModelCallRetried":
      return spent(now, event);
    default:
      return now;
  }
}

function spent(info: ConversationInfo, { usage, cost }: EventOf<"ModelCalled"> | EventOf<"ModelCallRetried">): ConversationInfo {
  const [prompt, completion] = [usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0];
  return {
    ...info,
    prompt_tokens: info.prompt_tokens + prompt,
    completion_tokens: info.completion_tokens + completion,
    cost: info.cost + (cost ?? 0),
    unpriced: info.unpriced + (prompt + completion > 0 && cost == null ? 1 : 0),
  };
}
