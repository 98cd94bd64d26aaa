import type { Event, EventOf } from "@agentrt/client";
import { expect, it } from "vitest";
import { condensedWords } from "../src/model/notices";
import { type ActionEntry, type CondensationEntry, type Entry, Transcript } from "../src/model/transcript";

let last = 0;

function made(type: string, fields: Record<string, unknown> = {}): Event {
  last += 1;
  return { type, seq: last, id: `e${last}`, timestamp: "2026-01-01T00:00:00Z", ...fields } as unknown as Event;
}

function begin(): void {
  last = 0;
}

const action = (tool = "terminal"): Event => made("ActionEvent", { tool_name: tool, tool_call_id: "t", arguments: { command: "ls" }, llm_response_id: "r" });
const observed = (of: Event, fields: Record<string, unknown> = {}): Event =>
  made("ObservationEvent", { action_id: of.id, tool_name: "terminal", tool_call_id: "t", content: [{ type: "text", text: "done" }], ...fields });
const said = (text: string, source = "user"): Event => made("MessageEvent", { source, content: [{ type: "text", text }] });
const only = (transcript: Transcript): ActionEntry => transcript.entries.find((entry) => entry.kind === "action") as ActionEntry;

it("has what a tool asks until it is answered, or the tool has ended", () => {
  begin();
  const transcript = new Transcript();
  const asked = action();
  const first = made("InputRequested", { action_id: asked.id, message: "Which?" });
  const second = made("InputRequested", { action_id: asked.id, message: "And which?" });
  for (const event of [asked, first, second]) transcript.add(event);
  expect(transcript.inputs.map(({ message }) => message)).toEqual(["Which?", "And which?"]);
  transcript.add(made("InputGiven", { request_id: first.id }));
  expect(transcript.inputs.map(({ message }) => message)).toEqual(["And which?"]);
  transcript.add(observed(asked));
  expect(transcript.inputs).toEqual([]);
});

it("follows an action through its life", () => {
  begin();
  const transcript = new Transcript();
  const asked = action();
  const steps: [Event, string][] = [
    [asked, "asked"],
    [made("RiskAssessed", { action_id: asked.id, risk: "HIGH", reason: "deletes" }), "asked"],
    [made("ConfirmationRequested", { action_ids: [asked.id], reasons: ["rule"] }), "waiting"],
    [made("ConfirmationGiven", { action_ids: [asked.id] }), "approved"],
    [made("ExecutionStarted", { action_id: asked.id, command: "x" }), "running"],
    [observed(asked), "done"],
  ];
  for (const [event, phase] of steps) {
    transcript.add(event);
    expect(only(transcript).phase).toBe(phase);
  }
  expect(only(transcript)).toMatchObject({ risk: "HIGH", why: "deletes", held: "rule", last: 6 });
});

it("tells of an interrupt once, behind what it cut short", () => {
  begin();
  const transcript = Transcript.of([
    said("go"),
    made("InterruptEvent", { reason: "enough" }),
    made("MessageEvent", { source: "agent", partial: true, content: [{ type: "text", text: "I will" }] }),
    made("ModelCalled", { model: "m", error: "interrupted" }),
  ]);
  expect(transcript.entries.map(({ kind }) => kind)).toEqual(["message", "message", "notice"]);
  expect(transcript.entries[1]).toMatchObject({ interrupted: true });
  expect(transcript.entries[2]).toMatchObject({ text: "Interrupted: enough" });
});

it("knows an interrupted action from one that failed", () => {
  begin();
  const [cut, later] = [action(), action()];
  const failed = (of: Event): Event => made("AgentErrorEvent", { action_id: of.id, tool_name: "terminal", tool_call_id: "t", error: "Interrupted after 3.0 s." });
  const transcript = Transcript.of([cut, made("ExecutionStarted", { action_id: cut.id }), made("InterruptEvent"), failed(cut)]);
  expect(only(transcript).phase).toBe("interrupted");
  for (const event of [later, made("ExecutionStarted", { action_id: later.id }), failed(later)]) transcript.add(event);
  expect((transcript.entries.at(-1) as ActionEntry).phase).toBe("failed");
});

it("replaces what changes and keeps the rest as it was", () => {
  begin();
  const transcript = Transcript.of([said("one"), action()]);
  const [message, before] = transcript.entries;
  transcript.add(made("RiskAssessed", { action_id: "e2", risk: "LOW" }));
  expect(transcript.entries[0]).toBe(message);
  expect(transcript.entries[1]).not.toBe(before);
});

it("tells a failed action and a rejected one from one that is done", () => {
  begin();
  const failing = action();
  const transcript = Transcript.of([failing, observed(failing, { is_error: true })]);
  expect(only(transcript).phase).toBe("failed");
  const refused = action();
  transcript.add(refused);
  transcript.add(made("UserRejectObservation", { action_id: refused.id, tool_name: "terminal", tool_call_id: "t" }));
  expect((transcript.entries.at(-1) as ActionEntry).phase).toBe("rejected");
});

it("shows a result alone when its action is not loaded", () => {
  begin();
  expect(Transcript.of([observed(action())]).entries.map((entry) => entry.kind)).toEqual(["result"]);
});

it("tells an error that ends a run once", () => {
  begin();
  const failed = made("ModelCalled", { model: "a", command: "c", error: "bad_key" });
  const ended = (code: string): Event => made("ConversationErrorEvent", { code, detail: "why" });
  expect(Transcript.of([failed, ended("bad_key")]).entries).toMatchObject([{ text: "Bad key", tone: "danger", seq: 2 }]);
  expect(Transcript.of([failed, ended("other")]).entries).toHaveLength(2);
});

it("folds away what a rewind left behind, and what an earlier one did", () => {
  begin();
  const transcript = Transcript.of([said("one"), said("two"), said("three"), made("HeadMoved", { to: 2 }), said("four"), made("HeadMoved", { to: 1 })]);
  expect(transcript.entries.map((entry) => entry.kind)).toEqual(["message", "abandoned"]);
  const left = transcript.entries[1];
  expect(left?.kind === "abandoned" && left.entries).toHaveLength(3);
});

it("goes back to a branch that an earlier rewind left", () => {
  begin();
  const [first, left, right, again] = [said("first"), said("left"), said("right"), said("again")];
  const transcript = Transcript.of([first, left, made("HeadMoved", { to: first.seq }), right, made("HeadMoved", { to: left.seq }), again]);
  const words = (entries: Entry[]): unknown[] => entries.map((entry) => (entry.kind === "abandoned" ? words(entry.entries) : entry.seq));
  expect(words(transcript.entries)).toEqual([first.seq, left.seq, [right.seq], again.seq]);
});

it("leaves a reply behind whose actions had not all ended", () => {
  begin();
  const opened = said("go");
  const [first, second] = [action(), action()];
  const transcript = Transcript.of([opened, first, second, observed(first), observed(second)]);
  transcript.add(made("HeadMoved", { to: 4 }));
  expect(transcript.entries.map((entry) => entry.kind)).toEqual(["message", "abandoned"]);
});

it("is the same event by event and at once", () => {
  begin();
  const first = action();
  const events = [said("one"), first, made("ExecutionStarted", { action_id: first.id, command: "x" }), observed(first), said("two", "agent"), made("HeadMoved", { to: 1 })];
  for (let end = 0; end <= events.length; end++) {
    const grown = new Transcript();
    for (const event of events.slice(0, end)) grown.add(event);
    expect(grown.entries).toEqual(Transcript.of(events.slice(0, end)).entries);
  }
});

it("lets an event of a type that it does not know pass", () => {
  begin();
  expect(Transcript.of([made("SomethingNew")]).entries).toEqual([]);
});

it("shows a conversation that was delegated to with the action that it does", () => {
  begin();
  const asked = action("delegate");
  const transcript = Transcript.of([asked, made("ChildStarted", { child_id: "c", task: "Look", action_id: asked.id, agent: "scout" })]);
  expect(only(transcript).children).toEqual([{ id: "c", task: "Look", agent: "scout", status: "running", cost: 0, waiting: [] }]);
  const waits = { action_id: "x", tool_name: "terminal", arguments: "{}" };
  transcript.add(made("ChildWaiting", { child_id: "c", actions: [waits] }));
  expect(only(transcript).children![0]).toMatchObject({ status: "waiting_for_confirmation", waiting: [waits] });
  transcript.add(made("ChildAnswered", { child_id: "c", action_id: "x", approved: true }));
  expect(only(transcript).children![0]).toMatchObject({ status: "running", waiting: [] });
  transcript.add(made("ChildFinished", { child_id: "c", status: "finished", cost: 0.5 }));
  expect(only(transcript).children![0]).toMatchObject({ status: "finished", cost: 0.5 });
  expect(transcript.entries).toHaveLength(1);
});

it("shows one whose action is not loaded by itself, and keeps those apart that one action has", () => {
  begin();
  const alone = Transcript.of([made("ChildWaiting", { child_id: "c", actions: [] }), made("ChildFinished", { child_id: "c", status: "error" })]);
  expect(alone.entries).toMatchObject([{ kind: "child", child: { id: "c", status: "error" } }]);
  const asked = action("delegate");
  const started = (child: string): Event => made("ChildStarted", { child_id: child, task: child, action_id: asked.id });
  const both = Transcript.of([asked, started("one"), started("two"), made("ChildFinished", { child_id: "one", status: "error" })]);
  expect(only(both).children!.map(({ id, status }) => [id, status]).toSorted()).toEqual([
    ["one", "error"],
    ["two", "running"],
  ]);
});

it("folds ten thousand events in no time", () => {
  begin();
  const events: Event[] = [];
  while (events.length < 10_000) {
    const asked = action();
    events.push(asked, made("ExecutionStarted", { action_id: asked.id, command: "x" }), observed(asked), said("and on", "agent"));
  }
  const begun = performance.now();
  expect(Transcript.of(events).entries.length).toBe(5000);
  expect(performance.now() - begun).toBeLessThan(500);
});

it("opens a condensation to what it replaced", () => {
  begin();
  const [first, asked] = [said("one"), action()];
  const result = observed(asked);
  const once = made("Condensation", { forgotten_event_ids: [asked.id, result.id], summary: "looked", tokens_before: 1200, tokens_after: 300 });
  const again = made("Condensation", { forgotten_event_ids: [first.id, `${once.id}-summary`] });
  const [before, after] = Transcript.of([first, asked, result, once, again]).entries.slice(2) as CondensationEntry[];
  expect(condensedWords(before!.event)).toBe("Removed from the model’s context: 2 events (1,200 → 300 tokens)");
  expect(before!.replaced.map((entry) => entry.key)).toEqual([asked.id]);
  expect(after!.replaced.map((entry) => entry.key)).toEqual([first.id, once.id]);
});

it("says what a condensation masked, and when it could do nothing", () => {
  const words = (fields: Record<string, unknown>): string => condensedWords(made("Condensation", fields) as EventOf<"Condensation">);
  expect(words({ masked_event_ids: ["a"] })).toBe("Removed from the model’s context: the output of 1 result");
  expect(words({ forgotten_event_ids: [] })).toBe("Nothing was removed from the model’s context");
});
