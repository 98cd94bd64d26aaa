/** Events as a person reads them: messages, actions with their results, and notices. Pure. */

import type { Event, EventOf, Risk } from "@agentrt/client";
import { noticeOf } from "./notices";

export type Result = EventOf<"ObservationEvent"> | EventOf<"UserRejectObservation"> | EventOf<"AgentErrorEvent">;
export type Phase = "asked" | "waiting" | "approved" | "running" | "done" | "failed" | "interrupted" | "rejected";
export type Tone = "quiet" | "warning" | "danger" | "good";

interface Place {
  key: string;
  seq: number;
  /** The seq of the last event that belongs to it. */
  last: number;
  time: string;
}

/** A delegated conversation. */
export interface Child {
  id: string;
  task: string;
  /** The name of the agent that works there; "": an agent like this one. */
  agent: string;
  status: string;
  cost: number;
  /** Its actions that wait for a person. */
  waiting: EventOf<"ChildWaiting">["actions"];
}

export interface MessageEntry extends Place {
  kind: "message";
  event: EventOf<"MessageEvent">;
  /** Whether the next entry tells of the interrupt that cut it short. */
  interrupted?: boolean;
}

export interface ThoughtEntry extends Place {
  kind: "thought";
  /** The model's reply that it comes from, as its actions do. */
  reply: string;
  text: string;
  reasoning: string;
}

export interface ActionEntry extends Place {
  kind: "action";
  event: EventOf<"ActionEvent">;
  arguments: Record<string, unknown>;
  phase: Phase;
  risk?: Risk;
  why?: string;
  held?: string;
  begun?: string;
  result?: Result;
  /** The delegated conversations; more than one if the work was started again. */
  children?: Child[];
}

export interface ResultEntry extends Place {
  kind: "result";
  event: Result;
}

export interface ChildEntry extends Place {
  kind: "child";
  /** Its action is not loaded. */
  child: Child;
}

export interface NoticeEntry extends Place {
  kind: "notice";
  tone: Tone;
  text: string;
  detail?: string;
  code?: string;
}

/** What was removed from the model’s context, and what replaced it. */
export interface CondensationEntry extends Place {
  kind: "condensation";
  event: EventOf<"Condensation">;
  /** The removed entries that are loaded. */
  replaced: Entry[];
}

export interface AbandonedEntry extends Place {
  kind: "abandoned";
  entries: Entry[];
}

export type Entry = MessageEntry | ThoughtEntry | ActionEntry | ResultEntry | ChildEntry | NoticeEntry | CondensationEntry | AbandonedEntry;

/** Grows event by event. A changed entry is a new object, an unchanged entry stays the same object. */
export class Transcript {
  entries: Entry[] = [];
  private places = new Map<string, number>();
  /** Open questions of running tools. */
  inputs: readonly EventOf<"InputRequested">[] = [];
  private rewinds: { seq: number; to: number }[] = [];
  /** The last interrupt; 0: none. */
  private interrupted = 0;

  static of(events: Iterable<Event>): Transcript {
    const transcript = new Transcript();
    for (const event of events) transcript.add(event);
    return transcript;
  }

  add(event: Event): void {
    switch (event.type) {
      case "MessageEvent":
        this.message(event);
        break;
      case "InterruptEvent":
        this.interrupted = event.seq;
        this.notice(event);
        break;
      case "ActionEvent":
        this.action(event);
        break;
      case "ObservationEvent":
      case "UserRejectObservation":
      case "AgentErrorEvent":
        this.inputs = this.inputs.filter((asked) => asked.action_id !== event.action_id);
        this.result(event);
        break;
      case "RiskAssessed":
        this.change(event.action_id, event, { risk: event.risk, ...(event.reason ? { why: event.reason } : {}) });
        break;
      case "ActionRevised":
        this.change(event.action_id, event, { arguments: object(event.arguments), phase: "asked" });
        break;
      case "ExecutionStarted":
        this.change(event.action_id, event, { phase: "running", begun: event.timestamp });
        break;
      case "ExecutionLost":
        this.change(event.action_id, event, { phase: "approved" });
        break;
      case "ConfirmationRequested":
        event.action_ids.forEach((id, at) => this.change(id, event, { phase: "waiting", held: event.reasons?.[at] ?? "risk" }));
        break;
      case "InputRequested":
        this.inputs = [...this.inputs, event];
        break;
      case "InputGiven":
        this.inputs = this.inputs.filter((asked) => asked.id !== event.request_id);
        break;
      case "ConfirmationGiven":
        for (const id of event.action_ids) this.change(id, event, { phase: "approved" });
        break;
      case "ChildStarted":
      case "ChildWaiting":
      case "ChildAnswered":
      case "ChildFinished":
        this.child(event);
        break;
      case "Condensation":
        this.push({ kind: "condensation", event, replaced: this.holding(event.forgotten_event_ids ?? []), ...place(event) });
        break;
      case "HeadMoved":
        this.rewind(event);
        break;
      default:
        this.notice(event);
    }
  }

  private notice(event: Event): void {
    const notice = noticeOf(event);
    const last = this.entries.at(-1);
    if (notice?.code !== undefined && last?.kind === "notice" && last.code === notice.code) this.entries.pop();
    if (notice !== undefined) this.push({ kind: "notice", ...notice, ...place(event) });
  }

  /** What an interrupt cut short comes before the line that tells of the interrupt. */
  private message(event: EventOf<"MessageEvent">): void {
    const cut = event.partial === true && this.interrupted > 0 && this.entries.at(-1)?.seq === this.interrupted;
    const told = cut ? this.entries.pop() : undefined;
    this.push({ kind: "message", event, ...(cut ? { interrupted: true } : {}), ...place(event) });
    if (told !== undefined) this.push(told);
  }

  /** The actions that wait for approval. */
  get waiting(): ActionEntry[] {
    return this.entries.filter((entry): entry is ActionEntry => entry.kind === "action" && entry.phase === "waiting");
  }

  /** The action that an execution in progress belongs to, when there is just one. */
  get running(): ActionEntry[] {
    return this.entries.filter((entry): entry is ActionEntry => entry.kind === "action" && entry.phase === "running");
  }

  /** The entries of some events, but for thoughts, which stand beside their actions. */
  private holding(ids: readonly string[]): Entry[] {
    const wanted = new Set(ids);
    const summed = (entry: Entry): boolean => entry.kind === "condensation" && wanted.has(`${entry.event.id}-summary`);
    return this.entries.filter((entry) => entry.kind !== "thought" && (wanted.has(entry.key) || summed(entry)));
  }

  private action(event: EventOf<"ActionEvent">): void {
    if (event.thought || event.reasoning) {
      const said = { reply: event.llm_response_id, text: event.thought ?? "", reasoning: event.reasoning ?? "" };
      this.push({ kind: "thought", ...said, ...place(event), key: `${event.id}-thought` });
    }
    this.push({ kind: "action", event, arguments: object(event.arguments), phase: "asked", ...place(event) });
  }

  private result(event: Result): void {
    const failed = event.type === "AgentErrorEvent" || (event.type === "ObservationEvent" && event.is_error === true);
    const cut = event.type === "AgentErrorEvent" && this.lastOf(event.action_id) < this.interrupted;
    const phase = event.type === "UserRejectObservation" ? "rejected" : cut ? "interrupted" : failed ? "failed" : "done";
    if (!this.change(event.action_id, event, { phase, result: event })) this.push({ kind: "result", event, ...place(event) });
  }

  /** The last event of an action; infinite if it is not loaded. */
  private lastOf(action: string): number {
    const at = this.places.get(action);
    return (at === undefined ? undefined : this.entries[at]?.last) ?? Infinity;
  }

  private child(event: EventOf<"ChildStarted" | "ChildWaiting" | "ChildAnswered" | "ChildFinished">): void {
    const action = event.type === "ChildStarted" ? this.places.get(event.action_id ?? "") : undefined;
    const at = this.places.get(event.child_id) ?? action;
    const entry = at === undefined ? undefined : this.entries[at];
    if (at !== undefined && entry?.kind === "action") {
      const children = [...(entry.children ?? [])];
      const known = children.findIndex((child) => child.id === event.child_id);
      children.splice(known < 0 ? children.length : known, 1, after(children[known], event));
      this.entries[at] = { ...entry, children, last: event.seq };
      this.places.set(event.child_id, at);
    } else if (at !== undefined && entry?.kind === "child") {
      this.entries[at] = { ...entry, child: after(entry.child, event), last: event.seq };
    } else this.push({ kind: "child", child: after(undefined, event), ...place(event) });
  }

  private rewind(event: EventOf<"HeadMoved">): void {
    const leads = this.path(event.to);
    this.rewinds.push({ seq: event.seq, to: event.to });
    // a fold that an earlier rewind made stays where that rewind is part of the way; else its entries are sorted again
    const all = this.entries.flatMap((entry) => (entry.kind === "abandoned" && !leads(entry.seq) ? entry.entries : [entry]));
    // a reply whose actions have not all ended goes whole: a conversation rests only between replies
    const open = all.find((entry) => entry.kind === "action" && leads(entry.seq) && !isOver(entry, event.to));
    const reply = open?.kind === "action" ? open.event.llm_response_id : undefined;
    const stays = (entry: Entry): boolean => leads(entry.seq) && (reply === undefined || replyOf(entry) !== reply);
    const inOrder = (one: Entry, other: Entry): number => one.seq - other.seq;
    this.entries = all.filter(stays).sort(inOrder);
    const left = all.filter((entry) => !stays(entry)).sort(inOrder);
    this.places = new Map();
    this.entries.forEach((entry, at) => this.note(entry, at));
    if (left.length > 0) this.entries.push({ kind: "abandoned", entries: left, ...place(event) });
    else this.entries.push({ kind: "notice", tone: "quiet", text: `Rewound to event ${event.to}`, ...place(event) });
  }

  /** Whether an event leads to the event `to`: what earlier rewinds left behind on the way there does not. */
  private path(to: number): (seq: number) => boolean {
    const segments: [number, number][] = [];
    for (const rewind of this.rewinds.toReversed()) {
      if (rewind.seq > to) continue;
      segments.push([rewind.seq, to]);
      to = rewind.to;
    }
    segments.push([0, to]);
    return (seq) => segments.some(([first, last]) => first <= seq && seq <= last);
  }

  private push(entry: Entry): void {
    this.note(entry, this.entries.length);
    this.entries.push(entry);
  }

  private note(entry: Entry, at: number): void {
    if (entry.kind === "action") this.places.set(entry.event.id, at);
    if (entry.kind === "action") for (const child of entry.children ?? []) this.places.set(child.id, at);
    if (entry.kind === "child") this.places.set(entry.child.id, at);
  }

  private change(action: string, event: Event, changes: Partial<ActionEntry>): boolean {
    const at = this.places.get(action);
    const entry = at === undefined ? undefined : this.entries[at];
    if (at === undefined || entry?.kind !== "action") return false;
    this.entries[at] = { ...entry, ...changes, last: event.seq };
    return true;
  }
}

function after(before: Child | undefined, event: EventOf<"ChildStarted" | "ChildWaiting" | "ChildAnswered" | "ChildFinished">): Child {
  const child = before ?? { id: event.child_id, task: "", agent: "", status: "running", cost: 0, waiting: [] };
  switch (event.type) {
    case "ChildStarted":
      return { ...child, task: event.task, agent: event.agent ?? "", status: "running", waiting: [] };
    case "ChildWaiting":
      return { ...child, status: event.status ?? "waiting_for_confirmation", waiting: event.actions };
    case "ChildAnswered": {
      const waiting = child.waiting.filter((action) => action.action_id !== event.action_id);
      return { ...child, status: waiting.length === 0 ? "running" : child.status, waiting };
    }
    case "ChildFinished":
      return { ...child, status: event.status, cost: event.cost ?? 0, waiting: [] };
  }
}

function isOver(entry: ActionEntry, at: number): boolean {
  return entry.result !== undefined && entry.result.seq <= at;
}

function replyOf(entry: Entry): string | undefined {
  return entry.kind === "action" ? entry.event.llm_response_id : entry.kind === "thought" ? entry.reply : undefined;
}

function place(event: Event): Place {
  return { key: event.id, seq: event.seq, last: event.seq, time: event.timestamp };
}

function object(given: unknown): Record<string, unknown> {
  return typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
}
