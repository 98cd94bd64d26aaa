import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket as Socket } from "ws";
import { type Connection, type Item, Refused, Stream, type StreamOptions } from "../src/index.js";
import { LogServer } from "./server.js";

let server: LogServer;
let stream: Stream;
let seen: number[];
let deltas: string[];
let states: Connection[];
let resets: number;

function take(items: Item[]): void {
  for (const item of items) "event" in item ? seen.push(item.event.seq) : deltas.push(item.delta.text);
}

function open(more: Partial<StreamOptions> = {}, seq = 0): void {
  const url = async (): Promise<string> => server.url;
  stream = new Stream({ url, WebSocket: Socket as unknown as typeof WebSocket, state: (state) => states.push(state), minWait: 5, maxWait: 20, ...more });
  const reset = (): void => {
    resets += 1;
    seen.length = 0;
  };
  stream.follow("c", { epoch: 0, seq }, { batch: take, reset });
}

const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, place) => first + place);
const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 4000, interval: 5 });

beforeEach(async () => {
  server = await LogServer.start();
  [seen, deltas, states, resets] = [[], [], [], 0];
});

afterEach(async () => {
  stream.close();
  await server.stop();
});

describe("a stream", () => {
  it("replays, and then follows", async () => {
    server.append(5);
    open();
    await until(() => expect(seen).toEqual(upTo(5)));
    server.append(3);
    await until(() => expect(seen).toEqual(upTo(8)));
  });

  it("begins after the cursor that it is given", async () => {
    server.append(5);
    open({}, 3);
    await until(() => expect(seen).toEqual([4, 5]));
  });

  it("sees each event once, in order, however often the connection is cut", async () => {
    open();
    for (let round = 0; round < 12; round++) {
      server.append(7);
      if (round % 2 === 0) server.cut();
      await new Promise((resolve) => setTimeout(resolve, 8));
    }
    await until(() => expect(seen).toEqual(upTo(84)));
  });

  it("survives a server that goes and comes back", async () => {
    server.append(2);
    open();
    await until(() => expect(seen).toEqual([1, 2]));
    const { port, log } = server;
    await server.stop();
    await until(() => expect(states).toContain("waiting"));
    server = await LogServer.start(port);
    server.log.push(...log);
    server.append(2);
    await until(() => expect(seen).toEqual(upTo(4)));
  });

  it("ignores what it has, and asks again for what is missing", async () => {
    server.append(3);
    open();
    await until(() => expect(seen).toEqual(upTo(3)));
    server.broadcast([{ type: "event", conversation: "c", event: server.log[0]! }]);
    server.log.push({ ...server.log[0]!, seq: 4 }); // which it is not sent
    server.append(1);
    await until(() => expect(seen).toEqual(upTo(5)));
    expect(server.asked.filter((frame) => frame.type === "follow")).toHaveLength(2);
  });

  it("begins anew when its cursor has expired", async () => {
    server.append(3);
    open();
    await until(() => expect(seen).toEqual(upTo(3)));
    server.epoch = 1;
    server.cut();
    await until(() => expect(resets).toBe(1));
    await until(() => expect(seen).toEqual(upTo(3)));
  });

  it("hands on deltas, but none that is ahead of its event", async () => {
    server.append(1);
    open();
    await until(() => expect(seen).toEqual([1]));
    const delta = { becomes: "x", channel: "text", text: "a", start: 0, after: 1 } as const;
    server.broadcast([
      { type: "delta", conversation: "c", delta },
      { type: "delta", conversation: "c", delta: { ...delta, text: "later", after: 9 } },
    ]);
    await until(() => expect(deltas).toEqual(["a"]));
  });

  it("answers heartbeats", async () => {
    open();
    await until(() => expect(server.asked).toHaveLength(1));
    server.broadcast([{ type: "heartbeat" }]);
    await until(() => expect(server.asked).toContainEqual({ type: "alive" }));
  });

  it("gives up a connection that says nothing", async () => {
    open({ silence: 40 });
    await until(() => expect(states.filter((state) => state === "waiting").length).toBeGreaterThan(1));
  });

  it("carries out controls, and says what was refused", async () => {
    open();
    await until(() => expect(states).toContain("open"));
    await expect(stream.do("c", { type: "pause" })).resolves.toEqual({ epoch: 0, seq: 7 });
    await expect(stream.do("c", { type: "fork" })).rejects.toBeInstanceOf(Refused);
  });

  it("asks for a key when it is refused twice, and not when one ticket was too old", async () => {
    const denied = vi.fn();
    open({ denied });
    await until(() => expect(server.asked).toHaveLength(1));
    server.cut(4001);
    await until(() => expect(server.asked).toHaveLength(2));
    expect(denied).not.toHaveBeenCalled();
    server.refuse = true;
    server.cut(4001);
    await until(() => expect(denied).toHaveBeenCalledOnce());
    expect(states.at(-1)).toBe("closed");
  });

  it("does not ask when a ticket is refused", async () => {
    const denied = vi.fn();
    open({ denied, url: () => Promise.reject(new Refused({ title: "Not authenticated", status: 401 })) });
    await until(() => expect(denied).toHaveBeenCalledOnce());
    expect(states.at(-1)).toBe("closed");
  });

  it("sends nothing more once it is not followed", async () => {
    open();
    await until(() => expect(states).toContain("open"));
    const other = vi.fn();
    stream.follow("d", { epoch: 0, seq: 0 }, { batch: other })();
    await until(() => expect(server.asked).toContainEqual({ type: "unfollow", conversation: "d" }));
    expect(other).not.toHaveBeenCalled();
  });
});
