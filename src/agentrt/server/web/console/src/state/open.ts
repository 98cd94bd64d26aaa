/** The open conversation: its newest events, its drafts and its state. */

import { type ConversationInfo, type Cursor, type Event, type Item, Refused } from "@agentrt/client";
import { batch, computed, signal } from "@preact/signals";
import { NOTHING, type Told, toldAfter } from "../model/context";
import { Drafts } from "../model/drafts";
import { after } from "../model/standing";
import { Transcript } from "../model/transcript";
import * as list from "./list";
import { explain, isLocked, rest, stream } from "./session";
import { announceEvent } from "./telling";
import { learn } from "./tools";

const PAGE = 200;
/** Milliseconds until the next attempt, while it is open elsewhere, and after an error of the server. */
const LOCKED = 1500;
const FAILED = 3000;

/** The events that say what the agent is told. */
const TELLING = ["ContextResolved", "ConsentGiven", "ContextChanged", "SystemPromptEvent", "ToolsChanged"] as const;

export class Open {
  readonly info = signal<ConversationInfo | null>(null);
  readonly missing = signal(false);
  /** Whether it is open elsewhere, for example in its parent: it is loaded once it is free. */
  readonly locked = signal(false);
  readonly loading = signal(true);
  readonly loadingOlder = signal(false);
  readonly live = signal(false);
  /** Grows with everything that changes what is shown of the transcript. */
  readonly version = signal(0);
  /** What the agent is told besides its task. */
  readonly told = signal<Told>(NOTHING);
  readonly cursor = signal<Cursor>({ epoch: 0, seq: 0 });
  readonly waiting = computed(() => (this.version.value, this.transcript.waiting));
  readonly inputs = computed(() => (this.version.value, this.transcript.inputs));

  /** The loaded events, without a gap, up to the newest. */
  events: Event[] = [];
  transcript = new Transcript();
  readonly drafts = new Drafts();

  private unfollow: (() => void) | undefined;
  private again: ReturnType<typeof setTimeout> | undefined;
  private frame: number | ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(readonly id: string) {
    void this.load();
  }

  get epoch(): number {
    return this.cursor.value.epoch;
  }

  get first(): number {
    return this.events[0]?.seq ?? 1;
  }

  close(): void {
    this.closed = true;
    this.unfollow?.();
    clearTimeout(this.again);
  }

  /** Load the page of events before those that there are. */
  async older(): Promise<void> {
    if (this.loadingOlder.value || this.first <= 1) return;
    this.loadingOlder.value = true;
    try {
      const page = await rest.eventsBefore(this.id, this.first, PAGE, this.epoch);
      if (this.closed) return;
      this.events = [...page.items, ...this.events];
      this.transcript = Transcript.of(this.events);
      this.version.value += 1;
    } catch (error) {
      explain(error);
    } finally {
      this.loadingOlder.value = false;
    }
  }

  /** Ask for what its events do not tell: what it answered, and what waits in conversations below. */
  async refresh(): Promise<void> {
    try {
      const info = await rest.conversation(this.id);
      if (this.closed) return;
      this.stands(this.events.reduce(after, info));
    } catch (error) {
      if (error instanceof Refused && error.problem.status === 404) this.missing.value = true;
    }
  }

  private async load(): Promise<void> {
    try {
      if (this.locked.value) await rest.conversation(this.id); // whether it is still so
      const [info, page, prompt, ...told] = await Promise.all([
        rest.conversation(this.id),
        rest.eventsBefore(this.id, undefined, PAGE),
        rest.events(this.id, { type: "SystemPromptEvent", limit: 1 }),
        ...TELLING.map((type) => rest.events(this.id, { type, limit: PAGE })),
      ]);
      learn(prompt.items);
      if (this.closed) return;
      batch(() => {
        this.cursor.value = { epoch: page.cursor.epoch ?? 0, seq: 0 };
        this.take(page.items);
        this.told.value = told.flatMap(({ items }) => items).sort((one, other) => one.seq - other.seq).reduce(toldAfter, NOTHING);
        this.stands(page.items.reduce(after, info));
        this.loading.value = this.locked.value = false;
      });
      this.follow(this.cursor.value);
    } catch (error) {
      if (this.closed) return;
      this.loading.value = false;
      this.locked.value = isLocked(error);
      if (error instanceof Refused && error.problem.status === 404) this.missing.value = true;
      else {
        if (!isLocked(error)) explain(error);
        this.again = setTimeout(() => void this.load(), isLocked(error) ? LOCKED : FAILED);
      }
    }
  }

  private follow(after: Cursor): void {
    this.unfollow = stream.follow(this.id, after, {
      batch: (items) => this.grow(items),
      live: (cursor) => {
        this.cursor.value = { epoch: cursor.epoch, seq: this.cursor.value.seq };
        this.live.value = true;
        this.locked.value = false;
        void this.refresh();
      },
      reset: () => {
        this.events = [];
        this.drafts.clear();
        this.transcript = new Transcript();
      },
      ended: (problem) => {
        this.live.value = false;
        const why = new Refused(problem);
        if (problem.status === 404) this.missing.value = true;
        else if (isLocked(why)) {
          this.locked.value = true;
          this.again = setTimeout(() => this.follow(this.cursor.value), LOCKED);
        } else explain(why);
      },
    });
  }

  private grow(items: Item[]): void {
    const events: Event[] = [];
    for (const item of items) {
      if ("event" in item) {
        events.push(item.event);
        this.transcript.add(item.event);
        this.drafts.settle(item.event, () => this.transcript.running.length > 0);
      } else this.drafts.grow(item.delta);
    }
    if (events.length > 0) {
      learn(events);
      this.told.value = events.reduce(toldAfter, this.told.value);
      for (const event of events) {
        this.events.push(event);
        if (this.live.value) announceEvent(event, this.transcript);
      }
      const before = this.info.value;
      if (before !== null) {
        const now = events.reduce(after, before);
        this.stands(now);
        if (now.status !== before.status && now.status !== "running" && this.live.value) void this.refresh();
      }
    }
    this.showSoon();
  }

  private stands(info: ConversationInfo): void {
    this.info.value = info;
    list.known(info);
  }

  private take(events: Event[]): void {
    learn(events);
    this.events = events;
    this.transcript = Transcript.of(events);
    this.shown();
  }

  /** At most once a frame, however much comes in. */
  private showSoon(): void {
    if (this.frame !== undefined) return;
    const show = (): void => {
      this.frame = undefined;
      this.shown();
    };
    this.frame = document.hidden ? setTimeout(show, 250) : requestAnimationFrame(show);
  }

  private shown(): void {
    batch(() => {
      this.version.value += 1;
      this.cursor.value = { epoch: this.epoch, seq: this.events.at(-1)?.seq ?? 0 };
    });
  }
}

export const open = signal<Open | null>(null);

/** Open a conversation, or none. */
export function show(id: string | null): void {
  if (open.peek()?.id === id) return;
  open.peek()?.close();
  open.value = id === null ? null : new Open(id);
}
