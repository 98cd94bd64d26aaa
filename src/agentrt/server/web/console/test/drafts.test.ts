import type { Delta, Event } from "@agentrt/client";
import { expect, it } from "vitest";
import { Drafts } from "../src/model/drafts";

const delta = (text: string, start: number, channel: Delta["channel"] = "text"): Delta => ({ becomes: "m", channel, text, start, after: 1 });
const event = (type: string, fields: Record<string, unknown> = {}): Event => ({ type, seq: 2, id: "x", timestamp: "", ...fields }) as unknown as Event;

it("joins pieces, and begins anew when it is told to", () => {
  const drafts = new Drafts();
  drafts.grow(delta("Hel", 0));
  drafts.grow(delta("lo", 3));
  expect(drafts.all[0]?.text).toBe("Hello");
  drafts.grow(delta("Bye", 0));
  expect(drafts.all[0]?.text).toBe("Bye");
  drafts.grow(delta("e!", 2));
  expect(drafts.all[0]?.text).toBe("Bye!");
});

it("says where something was skipped", () => {
  const drafts = new Drafts();
  drafts.grow(delta("begin", 0, "output"));
  drafts.grow(delta("end", 900, "output"));
  expect(drafts.all[0]?.output).toBe("begin\n…\nend");
});

it("is void once its event is there, or its try has failed", () => {
  const drafts = new Drafts();
  drafts.grow(delta("a", 0));
  drafts.settle(event("MessageEvent", { id: "m" }));
  expect(drafts.all).toEqual([]);
  drafts.grow(delta("a", 0));
  drafts.settle(event("ModelCallRetried", { draft: "m" }));
  expect(drafts.all).toEqual([]);
});

it("keeps an output while a model call ends", () => {
  const drafts = new Drafts();
  drafts.grow(delta("a", 0, "output"));
  drafts.settle(event("ModelCalled"));
  expect(drafts.all).toHaveLength(1);
});

it("is void with the last action that runs, whoever has cut it", () => {
  const drafts = new Drafts();
  drafts.grow(delta("a", 0, "output"));
  drafts.settle(event("InterruptEvent"), () => true);
  drafts.settle(event("AgentErrorEvent", { id: "other" }), () => true);
  expect(drafts.all).toHaveLength(1);
  drafts.settle(event("AgentErrorEvent", { id: "another" }), () => false);
  expect(drafts.all).toEqual([]);
});
