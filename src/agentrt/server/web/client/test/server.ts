/** A small real WebSocket server with a log: replays after a cursor, then sends what is appended. */

import { WebSocketServer, type WebSocket } from "ws";
import type { Event, FromServer, ToServer } from "../src/index.js";

export class LogServer {
  readonly log: Event[] = [];
  readonly asked: ToServer[] = [];
  epoch = 0;
  /** Whether it knows nobody. */
  refuse = false;
  private readonly following = new Map<WebSocket, string>();

  private constructor(private readonly server: WebSocketServer) {
    server.on("connection", (socket) => {
      if (this.refuse) {
        socket.close(4001);
        return;
      }
      socket.on("message", (data) => {
        for (const frame of JSON.parse(String(data)) as ToServer[]) this.take(socket, frame);
      });
      socket.on("close", () => this.following.delete(socket));
    });
  }

  static async start(port = 0): Promise<LogServer> {
    const server = new WebSocketServer({ port, host: "127.0.0.1" });
    await new Promise((resolve) => server.once("listening", resolve));
    return new LogServer(server);
  }

  get port(): number {
    const address = this.server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/events`;
  }

  append(count = 1): void {
    for (let made = 0; made < count; made++) {
      const event = message(this.log.length + 1);
      this.log.push(event);
      this.broadcast([{ type: "event", conversation: "c", event }]);
    }
  }

  broadcast(frames: FromServer[]): void {
    for (const socket of this.following.keys()) socket.send(JSON.stringify(frames));
  }

  /** Cut every connection, as a network does. */
  cut(code?: number): void {
    for (const socket of this.server.clients) code === undefined ? socket.terminate() : socket.close(code);
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(socket: WebSocket, frame: ToServer): void {
    this.asked.push(frame);
    const send = (frames: FromServer[]): void => socket.send(JSON.stringify(frames));
    if (frame.type === "follow") {
      const after = frame.after ?? {};
      if (after.epoch !== this.epoch && (after.seq ?? 0) > 0) {
        send([{ type: "ended", conversation: "c", problem: { title: "Cursor expired", status: 410, code: "cursor-expired" } }]);
        return;
      }
      this.following.set(socket, frame.conversation);
      const rest = this.log.filter((event) => event.seq > (after.seq ?? 0));
      send(rest.map((event) => ({ type: "event", conversation: "c", event })));
      send([{ type: "live", conversation: "c", cursor: { epoch: this.epoch, seq: this.log.length } }]);
    } else if (frame.type === "do") {
      const refused = frame.control.type === "fork";
      const problem = { title: "Busy", status: 409, code: "conversation-busy" };
      send([refused ? { type: "refused", id: frame.id, problem } : { type: "ack", id: frame.id, reply: { epoch: 0, seq: 7 } }]);
    }
  }
}

export function message(seq: number): Event {
  return { type: "MessageEvent", seq, id: `e${seq}`, timestamp: "2026-01-01T00:00:00Z", content: [{ type: "text", text: `${seq}` }] };
}
