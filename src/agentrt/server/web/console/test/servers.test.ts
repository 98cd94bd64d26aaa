import type { ServerStatus } from "@agentrt/client";
import { expect, test } from "vitest";
import { actionsOf, factsOf, isWeb } from "../src/model/servers";

const server: ServerStatus = {
  name: "tracker",
  way: "http",
  where: "https://tracker.example.com/mcp",
  standing: "ready",
  problem: "",
  protocol: "2026-07-28",
  tools: ["add", "find"],
  deferred: false,
  prompts: ["review"],
  logs_in: true,
  lines: [],
};

test("a server is told in one line", () => {
  expect(factsOf(server)).toBe("ready · HTTP · 2 tools · 1 prompt · protocol 2026-07-28");
  expect(factsOf({ ...server, deferred: true, prompts: [], protocol: "" })).toBe("ready · HTTP · 2 tools, found by search");
  expect(factsOf({ ...server, way: "stdio", standing: "disabled", tools: [], prompts: [], protocol: "" })).toBe("disabled · process");
});

test("what can be done is what helps", () => {
  expect(actionsOf(server)).toEqual(["logout"]);
  expect(actionsOf({ ...server, standing: "down" })).toEqual(["connect", "login"]);
  expect(actionsOf({ ...server, standing: "down", logs_in: false })).toEqual(["connect"]);
  expect(actionsOf({ ...server, standing: "resting", logs_in: false })).toEqual([]);
  expect(actionsOf({ ...server, standing: "connecting" })).toEqual([]);
  expect(["https://a", "javascript:alert(1)", "", "data:text/html,x"].map(isWeb)).toEqual([true, false, false, false]);
});
