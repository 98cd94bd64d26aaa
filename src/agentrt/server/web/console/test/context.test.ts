import type { Event } from "@agentrt/client";
import { expect, test } from "vitest";
import { always, bounds, briefOf, byKind, factsOf, fullness, NOTHING, toldAfter, toolsOf, unagreed } from "../src/model/context";

const place = { id: "e", seq: 1, timestamp: "2026-01-01T00:00:00Z" };
const resolved: Event = {
  ...place,
  type: "ContextResolved",
  sources: [
    { kind: "skill", name: "pdf", path: "/w/pdf.md", tokens: 5, when: "listed" },
    { kind: "instructions", name: "AGENTS.md", path: "/w/AGENTS.md", tokens: 7, when: "always" },
    { kind: "skill", name: "style", tokens: 90, when: "a message has commit", missing: ["Nothing"] },
  ],
  offers: [{ digest: "d1", name: "hooks of the project", hooks: [{ event: "before_tool", command: "./check.sh" }] }],
};

test("sources are told by their kind", () => {
  const told = toldAfter(NOTHING, resolved);
  expect(byKind(told).map(([title, sources]) => [title, sources.map((source) => source.name)])).toEqual([
    ["Instructions", ["AGENTS.md"]],
    ["Skills", ["pdf", "style"]],
  ]);
  expect(always(told)).toBe(12);
  expect(factsOf(told.sources[0]!)).toBe("5 tokens · listed · project");
});

test("what waits for a person's word waits until it is there", () => {
  const told = toldAfter(NOTHING, resolved);
  expect(unagreed(told).map((offer) => offer.digest)).toEqual(["d1"]);
  expect(unagreed(toldAfter(told, { ...place, type: "ConsentGiven", digest: "d1" }))).toEqual([]);
});

test("what has changed is marked", () => {
  const told = toldAfter(toldAfter(NOTHING, resolved), { ...place, type: "ContextChanged", paths: ["/w/AGENTS.md"] });
  expect(told.changed.has("/w/AGENTS.md")).toBe(true);
  expect(toldAfter(told, { ...place, type: "PauseEvent" })).toBe(told);
});

test("how full the window is, and when it is summarized", () => {
  const usage = { events: 12, tokens: 1500, window: 32000, max_events: 240, max_tokens: 25600, parts: [] };
  expect(fullness(usage)).toBe("About 1,500 of 32,000 tokens (5%) in 12 events");
  expect(bounds(usage)).toBe("Summarized automatically at 25,600 tokens or 240 events");
  const unknown = { ...usage, window: 0, max_events: null, max_tokens: null };
  expect(fullness(unknown)).toBe("About 1,500 tokens in 12 events");
  expect(bounds(unknown)).toBe("Never summarized automatically");
});

test("tools are told by who brings them, as that changes", () => {
  const tool = (name: string, server = ""): object => ({ name, server, description: `Does ${name}. And more.`, parameters: {} });
  const prompt = { ...place, type: "SystemPromptEvent", tools: [tool("ls"), tool("git__log", "git")] } as unknown as Event;
  const changed = { ...place, type: "ToolsChanged", server: "git", tools: [tool("git__log", "git"), tool("git__show", "git")], deferred: true } as unknown as Event;
  const told = toldAfter(toldAfter(NOTHING, prompt), changed);
  expect(toolsOf(told).map(([title, tools]) => [title, tools.map(({ name }) => name)])).toEqual([
    ["The agent’s own: 1", ["ls"]],
    ["From the MCP server git: 2, found by search", ["git__log", "git__show"]],
  ]);
  expect(briefOf(toolsOf(told)[0]![1][0]!)).toBe("Does ls.");
  const gone = { ...place, type: "ToolsChanged", server: "git", problem: "down" } as unknown as Event;
  expect(toolsOf(toldAfter(told, gone))).toHaveLength(1);
});
