/** Keyboard shortcuts, active unless a field has the focus. */

import { shownOf } from "../model/tree";
import { approve, askToReject, fork, interrupt, pause, run } from "./doing";
import * as list from "./list";
import { closeMenu, stepInMenu } from "./menus";
import { open } from "./open";
import { go, route } from "./route";
import { may } from "./session";
import { dialog, dismiss, drawer, historyShown, nextTheme, panel, shortcutsOn, toasts } from "./ui";

export const SHORTCUTS = [
  { keys: "n", what: "New conversation" },
  { keys: "/", what: "Filter the list" },
  { keys: "Ctrl K", what: "Search all conversations" },
  { keys: "[ ]", what: "Previous, next conversation" },
  { keys: "c", what: "Write a message" },
  { keys: "j k", what: "Next, previous entry" },
  { keys: "o", what: "Expand an entry" },
  { keys: "a", what: "Approve all waiting actions" },
  { keys: "r", what: "Reject all waiting actions" },
  { keys: "g", what: "Run" },
  { keys: "p", what: "Pause" },
  { keys: "x", what: "Interrupt" },
  { keys: "y", what: "Fork" },
  { keys: "h", what: "History" },
  { keys: "f", what: "Files of the workspace" },
  { keys: "i", what: "Context of the agent" },
  { keys: "m", what: "MCP servers" },
  { keys: "e", what: "Details" },
  { keys: "s", what: "Settings" },
  { keys: "S", what: "Settings of the server" },
  { keys: "t", what: "Theme: light, dark or system" },
  { keys: "?", what: "This help" },
] as const;

const DOES: Record<string, () => unknown> = {
  n: () => may("create_conversation") && (dialog.value = { name: "new" }),
  "/": () => {
    drawer.value = true;
    focus("filter");
  },
  "[": () => beside(-1),
  "]": () => beside(1),
  c: () => focus("composer"),
  j: () => step(1),
  k: () => step(-1),
  o: unfold,
  a: () => may("confirm") && waits() && approve(),
  r: () => may("reject") && waits() && askToReject(),
  g: () => may("run") && run(),
  p: () => may("pause") && pause(),
  x: () => may("interrupt") && interrupt(),
  y: () => may("fork") && fork(),
  h: () => (historyShown.value = !historyShown.value),
  f: () => (panel.value = panel.value === "files" ? "none" : "files"),
  i: () => (panel.value = panel.value === "context" ? "none" : "context"),
  m: () => (panel.value = panel.value === "servers" ? "none" : "servers"),
  e: () => (panel.value = panel.value === "details" ? "none" : "details"),
  s: () => open.value !== null && (dialog.value = { name: "settings" }),
  S: () => may("change_server_agent") && (dialog.value = { name: "server", tab: "" }),
  t: nextTheme,
  "?": () => (dialog.value = { name: "help" }),
};

export function onKey(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    dialog.value = { name: "search" };
    return;
  }
  if (event.key === "Escape" && dialog.value === null && escape(event)) return;
  if (stepInMenu(event)) return;
  const target = event.target as Element | null;
  const typing = target?.closest("input, textarea, select, [contenteditable], dialog") != null;
  if (!shortcutsOn.value || typing || event.ctrlKey || event.metaKey || event.altKey || dialog.value !== null) return;
  const does = DOES[event.key];
  if (does === undefined) return;
  event.preventDefault();
  does();
}

/** Escape closes what is open, the nearest first. Returns whether something was open. */
function escape(event: KeyboardEvent): boolean {
  const target = event.target as Element | null;
  if (closeMenu()) return true;
  if (drawer.value) {
    drawer.value = false;
    focus("open-drawer");
    return true;
  }
  if (panel.value !== "none" && target?.closest(".inspector, #panel-buttons")) {
    panel.value = "none";
    focus("transcript");
    return true;
  }
  const last = toasts.value.at(-1);
  if (last !== undefined) dismiss(last.id);
  return last !== undefined && target?.closest("textarea, input") == null;
}

function waits(): boolean {
  const conversation = open.value;
  return (conversation?.waiting.value.length ?? 0) > 0 || conversation?.info.value?.status === "waiting_for_confirmation";
}

function focus(id: string): void {
  const element = document.getElementById(id);
  element?.focus();
  if (document.activeElement !== element) setTimeout(() => document.getElementById(id)?.focus()); // once it is shown
}

function step(by: number): void {
  const entries = [...document.querySelectorAll<HTMLElement>(".entries > .entry[data-seq]")];
  const now = document.activeElement?.closest<HTMLElement>(".entry[data-seq]");
  const at = now ? entries.indexOf(now) : entries.length;
  const entry = entries[Math.min(entries.length - 1, Math.max(0, at + by))];
  entry?.focus({ preventScroll: true });
  entry?.scrollIntoView({ block: "nearest" });
}

function unfold(): void {
  const entry = document.activeElement?.closest(".entry");
  const folded = entry?.querySelector<HTMLElement>(".fold, details > summary");
  folded?.click();
}

function beside(by: number): void {
  const items = shownOf(list.tree.value, list.isUnfolded);
  const at = items.findIndex((item) => item.id === route.value.id);
  const item = items[at < 0 ? 0 : at + by];
  if (item !== undefined) go(item.id);
}
