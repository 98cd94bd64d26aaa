/** What the user does with the open conversation. */

import type { Content, Control } from "@agentrt/client";
import { newId } from "../model/ids";
import * as list from "./list";
import { open } from "./open";
import { go, goTo } from "./route";
import { attempt, rest } from "./session";
import { dialog, toast } from "./ui";

/** What a message does while the agent works. */
export type Busy = "steer" | "interrupt";

/** Whether it was done. */
export async function control(wanted: Control): Promise<boolean> {
  const conversation = open.value;
  if (conversation === null) return false;
  const reply = await attempt(async () => (await rest.do(conversation.id, wanted)) ?? true);
  void conversation.refresh();
  return reply !== undefined;
}

export function say(content: string | Content[], run: boolean, busy?: Busy): Promise<boolean> {
  return control({ type: "message", content, id: newId(), run, ...(busy ? { busy } : {}) });
}

/** The command that replaces older messages with a summary. */
export const COMPACT = "/compact";

/** Summarize the conversation: now if it is at rest, else before the next model call. */
export async function condense(): Promise<boolean> {
  const status = open.value?.info.value?.status;
  const asked = await control({ type: "condense" });
  return asked && (status === "finished" || status === "idle") ? run() : asked;
}

export const run = (): Promise<boolean> => control({ type: "run" });
export const pause = (): Promise<boolean> => control({ type: "pause" });
export const interrupt = (): Promise<boolean> => control({ type: "interrupt" });

export function approve(actions: string[] = [], always?: "session" | "project"): Promise<boolean> {
  return control({ type: "confirm", action_ids: actions, ...(always ? { always } : {}) });
}

export function reject(reason: string, actions: string[] = []): Promise<boolean> {
  return control({ type: "reject", action_ids: actions, ...(reason ? { reason } : {}) });
}

export function askToReject(actions: string[] = []): void {
  dialog.value = {
    name: "ask",
    title: actions.length === 1 ? "Reject this action" : "Reject all waiting actions",
    label: "Reason for the agent (optional)",
    value: "",
    action: "Reject",
    danger: true,
    done: (reason) => void reject(reason, actions),
  };
}

export function askToFork(at: number): void {
  dialog.value = {
    name: "sure",
    title: "Fork the conversation",
    text: `A new conversation continues from event ${at}. It works on the same files unless you copy them.`,
    action: "Fork",
    option: "Copy the files as they were at that event",
    done: (files) => void fork(at, files),
  };
}

export async function fork(at: number | null = null, files = false): Promise<void> {
  const conversation = open.value;
  if (conversation === null) return;
  const place = at === null ? {} : { at, epoch: conversation.epoch };
  const forked = await attempt(() => rest.do(conversation.id, { type: "fork", files, ...place }));
  if (forked === undefined) return;
  void list.refresh();
  go(forked.id);
  toast(at === null ? "Forked: this is the new conversation" : `Forked after event ${at}: this is the new conversation`);
}

export function askToRewind(to: number): void {
  dialog.value = {
    name: "sure",
    title: "Rewind the conversation",
    text: `The conversation continues from event ${to}. Later events stay in the log.`,
    action: "Rewind",
    option: "Also restore the files, except those that people changed since then",
    done: async (files) => {
      if (await control({ type: "rewind", to, epoch: open.value?.epoch ?? 0, files })) goTo(null);
    },
  };
}

export function askForTitle(): void {
  dialog.value = {
    name: "ask",
    title: "Rename the conversation",
    label: "Title",
    value: open.value?.info.value?.title ?? "",
    action: "Rename",
    done: async (title) => {
      await control({ type: "rename", title });
      void list.refresh();
    },
  };
}

export function askToDelete(): void {
  const conversation = open.value;
  if (conversation === null) return;
  dialog.value = {
    name: "sure",
    title: "Delete the conversation",
    text: "Its events are deleted permanently. Files in its workspace stay.",
    action: "Delete",
    done: async () => {
      if ((await attempt(async () => (await rest.delete(conversation.id), true))) === undefined) return;
      go(null);
      void list.refresh();
    },
  };
}
