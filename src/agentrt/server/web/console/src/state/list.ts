/** The list of conversations, newest first, loaded page by page. */

import { type ConversationInfo, Refused, type Status } from "@agentrt/client";
import { batch, computed, signal } from "@preact/signals";
import { below, type Branch, isLively, treeOf } from "../model/tree";
import { route } from "./route";
import { explain, rest } from "./session";
import { over } from "./ui";

const PAGE = 40;
const MOST = 100;
const EVERY = 4000;
const HIDDEN = 15_000;

export const items = signal<ConversationInfo[] | null>(null);
export const next = signal<string | null>(null);
export const query = signal("");
export const status = signal<Status | "">("");
export const failed = signal(false);
/** Whether the list is also read while the page is in the background. */
export const watchedFromAfar = signal(false);

/** Each below its parent. */
export const tree = computed(() => treeOf(items.value ?? []));
/** Which ones the user has folded or unfolded. */
const folds = signal<Record<string, boolean>>({});

/** Whether delegated ones are shown: as the user chose, else while one of them is working, waiting or open. */
export function isUnfolded(branch: Branch): boolean {
  const chosen = folds.value[branch.info.id];
  return chosen ?? (isLively(branch) || [...below(branch)].some(({ info }) => info.id === route.value.id));
}

export function fold(id: string, unfolded: boolean): void {
  folds.value = { ...folds.value, [id]: unfolded };
}

let asked = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Read the list again, with as many pages as are shown. */
export async function refresh(): Promise<void> {
  clearTimeout(timer);
  const mine = ++asked;
  try {
    const wanted = Math.max(PAGE, items.value?.length ?? 0);
    const page = await rest.conversations({ limit: Math.min(wanted, MOST), query: query.value, ...(status.value ? { status: status.value } : {}) });
    if (mine !== asked) return;
    over("server");
    batch(() => {
      items.value = page.items;
      next.value = page.next;
      failed.value = false;
    });
  } catch (error) {
    if (mine !== asked) return;
    if (error instanceof Refused && error.problem.status === 401) explain(error);
    failed.value = true;
    items.value ??= [];
  }
  timer = setTimeout(() => void (document.hidden ? later() : refresh()), EVERY);
}

function later(): void {
  if (watchedFromAfar.value) timer = setTimeout(() => void refresh(), HIDDEN);
  document.addEventListener("visibilitychange", () => void refresh(), { once: true });
}

export async function more(): Promise<void> {
  if (next.value === null) return;
  const mine = asked;
  try {
    const page = await rest.conversations({ limit: PAGE, after: next.value, query: query.value, ...(status.value ? { status: status.value } : {}) });
    if (mine !== asked) return;
    batch(() => {
      items.value = [...(items.value ?? []), ...page.items];
      next.value = page.next;
    });
  } catch (error) {
    explain(error);
  }
}

/** Update a conversation in the list. */
export function known(info: ConversationInfo): void {
  if (items.value === null) return;
  const at = items.value.findIndex((one) => one.id === info.id);
  if (at >= 0) items.value = items.value.with(at, { ...items.value[at]!, ...info });
}
