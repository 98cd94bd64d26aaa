import type { Event } from "@agentrt/client";
import { expect, it } from "vitest";
import { noticeOf } from "../src/model/notices";

function assessed(more: object): Event {
  return { type: "CriticAssessed", id: "a", seq: 1, timestamp: "", critic: "review", score: 0.4, success: false, ...more } as unknown as Event;
}

it("says how a critic has judged, or that it failed", () => {
  expect(noticeOf(assessed({ message: "No tests." }))).toEqual({ tone: "warning", text: "Not good enough yet (score 0.40, critic review)", detail: "No tests." });
  expect(noticeOf(assessed({ success: true, score: 0.9 }))).toEqual({ tone: "good", text: "Good enough (score 0.90, critic review)" });
  expect(noticeOf(assessed({ critic: "goal" }))?.text).toBe("Goal not reached yet (score 0.40)");
  expect(noticeOf(assessed({ error: "no answer", score: 0 }))).toEqual({ tone: "warning", text: "Critic review failed", detail: "no answer" });
});

it("says what a person has run in the workspace, and how it ended", () => {
  const begun = { type: "CommandStarted", id: "c", seq: 1, timestamp: "", by: "ada", command_line: "npm test", cwd: "/w", timeout: 30 } as unknown as Event;
  expect(noticeOf(begun)).toEqual({ tone: "quiet", text: "ada ran a command", detail: "npm test" });
  const ended = { type: "CommandEnded", id: "e", seq: 2, timestamp: "", exit_code: 1, stderr: "no", caused_by: "c" } as unknown as Event;
  expect(noticeOf(ended)).toEqual({ tone: "warning", text: "The command ended with exit code 1", detail: "no" });
  expect(noticeOf({ ...ended, timeout_occurred: true } as Event)?.text).toBe("The command reached its time limit");
});
