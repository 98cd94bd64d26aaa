/** A past state: the transcript as it was after an event, and what was spent by then. */

import type { Event, StateInfo } from "@agentrt/client";
import { effect, signal } from "@preact/signals";
import { Transcript } from "../model/transcript";
import { open, type Open } from "./open";
import { route } from "./route";
import { explain, rest } from "./session";

const PAGE = 200;

export interface Past {
  at: number;
  first: number;
  transcript: Transcript;
  time: string;
  state: StateInfo | null;
}

/** null: the present is shown. */
export const past = signal<Past | null>(null);

let asked = 0;

effect(() => {
  const { at } = route.value;
  const conversation = open.value;
  const mine = ++asked;
  if (at === null || conversation === null) past.value = null;
  else if (!conversation.loading.value) void visit(conversation, at, mine);
});

async function visit(conversation: Open, at: number, mine: number): Promise<void> {
  try {
    const loaded = conversation.events;
    const first = conversation.first;
    const near = at >= first && (first <= 1 || at - first >= 20);
    const events = near ? loaded.slice(0, at - first + 1) : await before(conversation, at);
    if (mine !== asked) return;
    const visited = { at, first: events[0]?.seq ?? 1, transcript: Transcript.of(events), time: events.at(-1)?.timestamp ?? "" };
    past.value = { ...visited, state: past.peek()?.state ?? null };
    await new Promise((resolve) => setTimeout(resolve, 120)); // while the slider moves, figures are not asked for
    if (mine !== asked) return;
    const state = await rest.state(conversation.id, at, conversation.epoch);
    if (mine === asked && past.value !== null) past.value = { ...past.value, state };
  } catch (error) {
    if (mine === asked) explain(error);
  }
}

async function before({ id, epoch }: Open, at: number): Promise<Event[]> {
  return (await rest.eventsBefore(id, at + 1, PAGE, epoch)).items;
}
