/** What REST says. */

import type { Event, Risk } from "./events";
import type { Cursor } from "./frames";

export type Status = "idle" | "running" | "paused" | "waiting_for_confirmation" | "finished" | "error" | "stuck";

export interface PendingAction {
  id: string;
  tool_name: string;
  arguments: Record<string, unknown>;
  risk?: Risk | null;
  held?: string;
}

export interface ConversationInfo {
  id: string;
  status: Status;
  cursor: Cursor;
  title: string;
  tags: Record<string, string>;
  created?: string;
  updated?: string;
  owner?: string | null;
  parent?: string | null;
  model?: string;
  workspace?: string;
  cost: number;
  prompt_tokens: number;
  completion_tokens: number;
  pending: PendingAction[];
  error?: { code: string; detail: string } | null;
}

export interface ConversationPage {
  items: ConversationInfo[];
  next: string | null;
}

export interface EventPage {
  items: Event[];
  next: number | null;
  cursor: Cursor;
}

export interface CreateConversation {
  agent?: { llm: { type: "LLM"; model: string; base_url?: string }; confirmation?: { type: string } };
  workspace?: string;
  title?: string;
  message?: string;
}

export interface StateAt {
  status: Status;
  cost: number;
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Change {
  path: string;
  status: string;
}

export interface ServerInfo {
  version?: string;
  models?: string[];
}

export interface Answer {
  text: string;
}

export interface Forked {
  id: string;
}
