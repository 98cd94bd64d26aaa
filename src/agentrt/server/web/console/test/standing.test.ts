import type { ConversationInfo, Event } from "@agentrt/client";
import { expect, it } from "vitest";
import { after, statusAfter } from "../src/model/standing";

const event = (type: string, fields: Record<string, unknown> = {}): Event => ({ type, seq: 9, id: "x", timestamp: "t", ...fields }) as unknown as Event;
const INFO = {
  status: "running", cursor: { epoch: 0, seq: 8 }, cost: 1, unpriced: 0, prompt_tokens: 10, completion_tokens: 5, pending: [], error: null, title: "", tags: {},
} as unknown as ConversationInfo;

it("follows the status by the log alone", () => {
  const run = [
    event("ConversationCreated"), event("MessageEvent", { source: "user" }), event("RunRequested"), event("ModelCallStarted"),
    event("ConfirmationRequested"), event("ConfirmationGiven"), event("ObservationEvent"), event("RunEnded", { status: "finished" }),
    event("MessageEvent", { source: "user" }), event("RunRequested"), event("StuckDetected", { nudge: true }), event("InterruptEvent", { goes_on: true }),
    event("InterruptEvent"), event("RunRequested"), event("StuckDetected"), event("RunRequested"), event("ConversationErrorEvent"), event("HeadMoved"),
  ];
  let status: ConversationInfo["status"] = "idle";
  const seen = run.map((one) => (status = statusAfter(status, one)));
  expect(seen).toEqual([
    "idle", "idle", "running", "running", "waiting_for_confirmation", "running", "running", "finished", "idle", "running", "running", "running", "paused",
    "running", "stuck", "running", "error", "idle",
  ]);
});

it("tells a child that waits from one that was left", () => {
  expect(statusAfter("waiting_for_confirmation", event("ChildWaiting", { spending: {} }))).toBe("waiting_for_confirmation");
  expect(statusAfter("waiting_for_confirmation", event("ChildWaiting"))).toBe("running");
});

it("takes a conversation that crashed for one that ran", () => {
  expect(statusAfter("crashed", event("PauseEvent"))).toBe("paused");
  expect(statusAfter("crashed", event("TitleChanged"))).toBe("crashed");
});

it("counts what is used, and each event once", () => {
  const called = event("ModelCalled", { usage: { prompt_tokens: 7, completion_tokens: 2 }, cost: 0.5 });
  const now = after(INFO, called);
  expect([now.prompt_tokens, now.completion_tokens, now.cost, now.unpriced, now.cursor.seq]).toEqual([17, 7, 1.5, 0, 9]);
  expect(after(now, called)).toBe(now);
  expect(after(INFO, event("ModelCalled", { usage: { prompt_tokens: 7 } })).unpriced).toBe(1);
});
