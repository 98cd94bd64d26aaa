import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { allows, Refused, Rest } from "../src/index.js";

let server: Server;
let base: string;
let asked: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      asked.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      if (request.url?.includes("nobody")) {
        response.writeHead(404, { "Content-Type": "application/problem+json" });
        response.end(JSON.stringify({ title: "Conversation missing", status: 404, code: "conversation-missing", detail: "none" }));
      } else if (request.url?.includes("broken")) {
        response.writeHead(502).end("<html>");
      } else if (request.url?.includes("/count")) {
        const after = Number(new URL(request.url, base).searchParams.get("after") ?? 0);
        response.end(JSON.stringify({ count: 3, next: after < 10 ? after + 5 : null, cursor: { epoch: 2, seq: 12 } }));
      } else if (request.url?.includes("/long/")) {
        const after = Number(new URL(request.url, base).searchParams.get("after") ?? 0);
        const items = [1, 2].map((by) => ({ type: "RuleAdded", seq: after + by }));
        response.end(JSON.stringify({ items, next: after < 4 ? after + 2 : null, cursor: { epoch: 2, seq: 5 } }));
      } else response.end(JSON.stringify({ ticket: "once" }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => new Promise((resolve) => server.close(resolve)));

it("sends the key in a header, and never in a URL", async () => {
  const rest = new Rest({ base, key: () => "sesame" });
  const url = await rest.socketURL();
  await rest.events("a/b", { before: 7, limit: 2, order: "desc" });
  expect(url).toBe(`${base.replace("http", "ws")}/events?ticket=once`);
  expect(asked.map((request) => request.headers.authorization)).toEqual(["Bearer sesame", "Bearer sesame"]);
  expect(asked.map((request) => request.url)).toEqual(["/tickets", "/conversations/a%2Fb/events?before=7&limit=2&order=desc"]);
});

it("needs no ticket without a key", async () => {
  expect(await new Rest({ base }).socketURL()).toBe(`${base.replace("http", "ws")}/events`);
  expect(asked).toEqual([]);
});

it("counts a long log in steps", async () => {
  const rest = new Rest({ base });
  expect(await rest.countEvents("long", { source: "user", since: "2026-01-01T00:00:00Z" })).toBe(9);
  expect(asked.map((request) => request.url?.split("&after=")[1])).toEqual(["0", "5&epoch=2", "10&epoch=2"]);
  expect(asked[0]!.url).toContain("/conversations/long/events/count?source=user&since=2026-01-01T00%3A00%3A00Z");
  expect(await rest.countConversations({ status: "idle" })).toBe(3);
});

it("posts a control to the path of its name", async () => {
  await new Rest({ base }).do("c", { type: "reject", reason: "no", action_ids: ["a"] });
  expect(asked[0]).toMatchObject({ method: "POST", url: "/conversations/c/reject" });
  expect(JSON.parse(asked[0]!.body)).toEqual({ reason: "no", action_ids: ["a"] });
});

it("reads all events of a type, up to where the log stood at first", async () => {
  const { events, upto } = await new Rest({ base }).eventsOf("long", ["RuleAdded", "GoalSet"]);
  expect([events.map((event) => event.seq), upto]).toEqual([[1, 2, 3, 4, 5], 5]);
  expect(asked.at(-1)!.url).toBe("/conversations/long/events?type=RuleAdded%2CGoalSet&limit=1000&after=4&epoch=2");
});

it("names the epoch of every place", async () => {
  const rest = new Rest({ base });
  await rest.eventsBefore("long", 9, 3, 2);
  await rest.eventsOf("long", ["GoalSet"], 7, 2);
  await rest.state("c", 4, 2);
  expect(asked.map((request) => request.url)).toEqual([
    "/conversations/long/events?before=9&epoch=2&limit=3&order=desc",
    "/conversations/long/events?before=2&epoch=2&limit=1&order=desc",
    "/conversations/long/events?type=GoalSet&limit=1000&after=7&epoch=2",
    "/conversations/c/state?at=4&epoch=2",
  ]);
});

it("changes a title by itself", async () => {
  await new Rest({ base }).change("c", { title: "New" });
  expect(asked[0]).toMatchObject({ method: "PATCH", url: "/conversations/c", body: '{"title":"New"}' });
});

it("knows what a key is good for", () => {
  expect(allows(["observe", "steer"], "message")).toBe(true);
  expect(allows(["observe", "steer"], "confirm")).toBe(false);
  expect(allows(["admin"], "grant")).toBe(true);
  expect(allows(["approve"], { scope: "admin" })).toBe(false);
});

it("says what the server refused", async () => {
  const refused = await new Rest({ base }).conversation("nobody").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Refused);
  expect((refused as Refused).problem).toMatchObject({ status: 404, code: "conversation-missing" });
  await expect(new Rest({ base }).conversation("broken")).rejects.toMatchObject({ problem: { status: 502 } });
});
