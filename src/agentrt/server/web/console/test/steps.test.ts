import type { Event } from "@agentrt/client";
import { expect, test } from "vitest";
import { noticeOf } from "../src/model/notices";
import { keepingOf, stepAt, stepsOf } from "../src/model/steps";

const time = { timestamp: "2026-01-01T00:00:00Z" };
const kept = (seq: number, at: number, when: "before" | "after", tree = `t${seq}`): Event => ({ ...time, id: `${seq}`, seq, type: "WorkspaceSnapshot", at, when, tree });
const restored: Event = { ...time, id: "30", seq: 30, type: "FilesRestored", to: 3, tree: "t4", before: "t20", files: 2, left: ["a.txt"], left_count: 1 };
const log: Event[] = [kept(4, 3, "before"), kept(9, 8, "after"), { ...kept(10, 10, "before", ""), off: "too many files" } as Event, kept(20, 19, "before"), restored];

test("each step is between two moments, and somebody's", () => {
  const steps = stepsOf(log);
  expect(steps).toEqual([
    { since: 3, until: 8, by: "agent", time: time.timestamp },
    { since: 8, until: 19, by: "unknown", time: time.timestamp },
    { since: 19, until: 30, by: "rewind", time: time.timestamp },
  ]);
  expect(stepAt(steps, 3)).toBeUndefined();
  expect(stepAt(steps, 4)).toBe(steps[0]);
  expect(stepAt(steps, 25)).toBe(steps[2]);
  expect(stepsOf([])).toEqual([]);
  expect(stepsOf([kept(4, 3, "before"), kept(9, 8, "before")])[0]!.by).toBe("people");
  expect(stepsOf([kept(4, 3, "before"), { ...kept(9, 8, "before"), late: true } as Event])[0]!.by).toBe("unknown");
});

test("what a rewind left, and that files are not kept, is told", () => {
  expect(noticeOf(log[0]!)).toBeUndefined();
  expect(noticeOf(log[2]!)?.text).toBe("Files are not saved for rewinds: too many files");
  expect(noticeOf(restored)).toEqual({ tone: "warning", text: "2 files restored to event 3; 1 file kept because people changed it", detail: "a.txt" });
  const more: Event = { ...restored, left: ["a.txt", "b.txt"], left_count: 2, unknown: ["b.txt"], unknown_count: 1, during: [{ calls: [7], paths: ["c.txt"], count: 1 }] } as Event;
  expect(noticeOf(more)).toEqual({
    tone: "warning",
    text: "2 files restored to event 3; 1 file kept because people changed it; 1 file kept because its earlier content or author is unknown",
    detail: "Kept because people changed them:\na.txt\nKept because their earlier content or author is unknown:\nb.txt\nRestored, although people may have changed them while event 7 ran:\nc.txt",
  });
});

test("it says between which events files are kept, and why they are not", () => {
  const kept = (fields: Record<string, unknown>): Event => ({ type: "WorkspaceSnapshot", seq: 9, at: 9, ...fields }) as unknown as Event;
  expect(keepingOf([])).toEqual({ steps: [], last: null, off: "", leftOut: [] });
  expect(keepingOf([kept({ at: 5, tree: "a" }), kept({ at: 8, tree: "b", when: "after", left_out: ["what is ignored"] }), kept({ off: "too many" })])).toEqual({
    steps: [{ since: 5, until: 8, by: "agent" }],
    last: 8,
    off: "too many",
    leftOut: ["what is ignored"],
  });
});
