/** Tells a person who looks elsewhere that an agent needs an answer: by browser notifications if wanted, and in the title. */

import type { ConversationInfo } from "@agentrt/client";
import { computed, effect, signal } from "@preact/signals";
import { asking, titleWith } from "../model/asking";
import { headline, labelOf } from "../model/tools";
import { clean, titleOf } from "../model/words";
import * as list from "./list";
import { open } from "./open";
import { go } from "./route";
import { toolOf } from "./tools";
import { toast } from "./ui";

const KEPT = "agentrt.notify";
/** Characters of what is asked that a notification shows. */
const MOST = 160;
const supported = "Notification" in globalThis;

/** Whether the browser may notify, as the person has said here. */
export const notifying = signal(supported && localStorage.getItem(KEPT) === "on" && Notification.permission === "granted");

/** Turn notifications on or off; a browser asks for its permission only after a click. */
export async function toggleNotifying(): Promise<void> {
  if (notifying.value) return turn(false);
  if (!supported) return toast("This browser has no notifications. The page title shows how many conversations need you.", "danger");
  const permission = await Notification.requestPermission();
  if (permission === "granted") {
    turn(true);
    toast("You will be notified when an agent needs you and this page is in the background");
  } else toast("The browser blocks notifications from this page. You can allow them in its site settings.", "danger");
}

function turn(on: boolean): void {
  notifying.value = on;
  list.watchedFromAfar.value = on;
  localStorage.setItem(KEPT, on ? "on" : "off");
}
list.watchedFromAfar.value = notifying.peek();

const asked = computed(() => {
  const own = open.value?.info.value;
  const others = (list.items.value ?? []).filter(({ id }) => id !== own?.id);
  return asking(own ? [own, ...others] : others);
});

const shown = new Map<string, Notification | null>();
let began = false;

effect(() => {
  const own = open.value?.info.value;
  document.title = titleWith(own ? `${titleOf(own)} · agentrt` : "agentrt", asked.value.length);
});

effect(() => {
  const now = new Map(asked.value.map((info) => [info.id, info]));
  for (const [id, notification] of shown) {
    if (now.has(id)) continue;
    notification?.close();
    shown.delete(id);
  }
  for (const info of now.values()) if (!shown.has(info.id)) shown.set(info.id, began ? notify(info) : null);
  began ||= list.items.value !== null; // what asked before the page was there is seen on it
});

function notify(info: ConversationInfo): Notification | null {
  if (!notifying.peek() || !document.hidden) return null;
  const notification = new Notification(`${clean(titleOf(info))} needs your input`, { body: bodyOf(info), tag: info.id, icon: "./favicon.svg" });
  notification.onclick = () => {
    window.focus();
    go(info.id);
    notification.close();
  };
  return notification;
}

/** What is asked; of the conversation that is open its events say so before the server does. */
function bodyOf({ id, pending, inputs }: ConversationInfo): string {
  const here = open.peek();
  const waits = here?.id === id ? here.transcript.waiting[0] : undefined;
  const name = waits?.event.tool_name ?? pending[0]?.tool_name;
  if (name === undefined) return clean(inputs[0]?.message ?? "").slice(0, MOST);
  const given = waits?.arguments ?? (pending[0]?.arguments as Record<string, unknown>);
  return clean(`${labelOf(toolOf(name))} ${headline(toolOf(name), given)}`).slice(0, MOST);
}
