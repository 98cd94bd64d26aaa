/** The state of the page itself: dialogs, toasts, panels, the theme, and announcements for screen readers. */

import { effect, signal } from "@preact/signals";

export type Dialog =
  | { name: "key" | "new" | "help" | "search" | "settings" }
  | { name: "server"; tab: string }
  | { name: "ask"; title: string; label: string; value: string; action: string; danger?: boolean; done: (value: string) => void }
  | { name: "sure"; title: string; text: string; action: string; option?: string; done: (option: boolean) => void }
  | { name: "event"; seq: number };

export type Theme = "auto" | "light" | "dark";
export type Panel = "none" | "files" | "context" | "servers" | "details";

export const dialog = signal<Dialog | null>(null);
export const drawer = signal(false);
export const panel = signal<Panel>("none");
export const historyShown = signal(false);
export const theme = signal<Theme>((localStorage.getItem("agentrt.theme") as Theme | null) ?? "auto");
export const shortcutsOn = signal(localStorage.getItem("agentrt.shortcuts") !== "off");
export const now = signal(Date.now());

setInterval(() => (now.value = Date.now()), 30_000);

effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("agentrt.theme", theme.value);
});
effect(() => localStorage.setItem("agentrt.shortcuts", shortcutsOn.value ? "on" : "off"));

export function nextTheme(): void {
  const order: Theme[] = ["auto", "light", "dark"];
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length]!;
}

/** The condition that a toast reports, if it may end early: the server does not answer, or something was refused. */
export type About = "server" | "refusal";

export interface Toast {
  id: number;
  text: string;
  tone: "quiet" | "danger";
  about?: About;
}

export const toasts = signal<Toast[]>([]);
const timers = new Map<number, ReturnType<typeof setTimeout>>();
let made = 0;

export function toast(text: string, tone: Toast["tone"] = "quiet", about?: About): void {
  const one: Toast = { id: ++made, text, tone, ...(about ? { about } : {}) };
  const kept = [...toasts.value.filter((other) => other.text !== text), one].slice(-3);
  for (const { id } of toasts.value) if (!kept.some((other) => other.id === id)) hold(id);
  toasts.value = kept;
  release(one.id);
}

/** Keep a toast while somebody reads it. */
export function hold(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
}

/** Dismiss a toast after its time, which begins now. */
export function release(id: number): void {
  const one = toasts.peek().find((other) => other.id === id);
  hold(id);
  if (one !== undefined) timers.set(id, setTimeout(() => dismiss(id), one.tone === "danger" ? 10_000 : 4000));
}

export function dismiss(id: number): void {
  hold(id);
  toasts.value = toasts.peek().filter((one) => one.id !== id);
}

/** Dismiss the toasts about a condition that is over. */
export function over(about: About): void {
  for (const one of toasts.peek()) if (one.about === about) dismiss(one.id);
}

/** What was announced last, for `aria-live`. */
export const announced = signal("");

export function announce(text: string): void {
  announced.value = text.slice(0, 300);
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    toast("The browser blocks copying from this page", "danger");
  }
}
