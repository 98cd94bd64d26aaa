/** A socket that stays: it reconnects, resumes every conversation from its cursor, and answers heartbeats. */

import { Follower, type Handlers } from "./follower.js";
import { CLOSED, type Control, type Cursor, type FromServer, type ToServer } from "./frames.js";
import { Refused } from "./problems.js";

export type Connection = "connecting" | "open" | "waiting" | "closed";

export interface StreamOptions {
  /** The URL of a new socket, with a ticket where there is a key. It may fail: then it is tried again. */
  url: () => Promise<string>;
  state?: (connection: Connection) => void;
  /** The server does not know us: nothing is tried until `retry()`. */
  denied?: () => void;
  WebSocket?: typeof WebSocket;
  /** Milliseconds; the wait before a new try is between the two, and doubles with each. */
  minWait?: number;
  maxWait?: number;
  /** Milliseconds without a frame after which the connection counts as lost. */
  silence?: number;
  random?: () => number;
}

interface Asked {
  resolve: (reply: unknown) => void;
  reject: (error: Error) => void;
}

export class Stream {
  private socket: WebSocket | undefined;
  private readonly followers = new Map<string, Follower>();
  private readonly asked = new Map<string, Asked>();
  private tries = 0;
  private denials = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watch: ReturnType<typeof setTimeout> | undefined;
  private state: Connection = "closed";
  private count = 0;
  private opening = 0;

  constructor(private readonly options: StreamOptions) {}

  /** Follow a conversation; the function that is returned ends it. */
  follow(conversation: string, after: Partial<Cursor>, handlers: Handlers, deltas = true): () => void {
    const follower = new Follower(conversation, after, deltas, handlers);
    this.followers.set(conversation, follower);
    if (this.state === "open") this.ask(follower);
    else if (this.state === "closed") void this.open();
    return () => {
      if (this.followers.get(conversation) !== follower) return;
      this.followers.delete(conversation);
      if (this.state === "open") this.send([{ type: "unfollow", conversation }]);
    };
  }

  /** Carry out a control over the socket. Rejects with `Refused`, or when the connection is lost before the answer. */
  do(conversation: string, control: Control): Promise<unknown> {
    if (this.state !== "open") return Promise.reject(new Error("not connected"));
    const id = `c${++this.count}`;
    return new Promise((resolve, reject) => {
      this.asked.set(id, { resolve, reject });
      this.send([{ type: "do", id, conversation, control }]);
    });
  }

  /** Connect now, whatever was waited for: the network is back, or there is a new key. */
  retry(): void {
    if (this.state === "open" || this.state === "connecting") return;
    this.tries = this.denials = 0;
    void this.open();
  }

  close(): void {
    this.opening += 1;
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    this.followers.clear();
    this.detach();
    this.set("closed");
  }

  private async open(): Promise<void> {
    clearTimeout(this.timer);
    this.set("connecting");
    const attempt = ++this.opening;
    try {
      const url = await this.options.url();
      if (attempt !== this.opening) return;
      this.attach(new (this.options.WebSocket ?? WebSocket)(url));
    } catch (error) {
      if (attempt !== this.opening) return;
      if (error instanceof Refused && error.problem.status === 401) this.deny();
      else this.wait();
    }
  }

  private attach(socket: WebSocket): void {
    this.socket = socket;
    socket.onopen = () => {
      this.set("open");
      this.heard();
      for (const follower of this.followers.values()) this.ask(follower);
    };
    socket.onmessage = (message) => {
      this.heard();
      this.tries = this.denials = 0;
      this.take(JSON.parse(String(message.data)) as FromServer[]);
    };
    socket.onerror = () => undefined; // it is closed next, which is when it counts
    socket.onclose = (closing) => this.lost(closing.code);
    this.heard();
  }

  private detach(): void {
    const socket = this.socket;
    if (socket === undefined) return;
    this.socket = undefined;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  private take(frames: FromServer[]): void {
    const touched = new Set<Follower>();
    for (const frame of frames) {
      switch (frame.type) {
        case "heartbeat":
          this.send([{ type: "alive" }]);
          break;
        case "ack":
          this.settle(frame.id)?.resolve(frame.reply);
          break;
        case "refused":
          this.settle(frame.id ?? "")?.reject(new Refused(frame.problem));
          break;
        default: {
          const follower = this.followers.get(frame.conversation);
          if (follower !== undefined && this.follows(follower, frame)) touched.add(follower);
        }
      }
    }
    for (const follower of touched) follower.flush();
  }

  /** Whether it goes on being followed. */
  private follows(follower: Follower, frame: FromServer): boolean {
    switch (follower.take(frame)) {
      case "gap":
      case "reset":
        this.ask(follower);
        return true;
      case "ended":
        this.followers.delete(follower.conversation);
        return false;
      default:
        return true;
    }
  }

  private ask(follower: Follower): void {
    follower.live = false;
    const { conversation, cursor, deltas } = follower;
    this.send([{ type: "follow", conversation, after: { ...cursor }, deltas }]);
  }

  private send(frames: ToServer[]): void {
    if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(frames));
  }

  private settle(id: string): Asked | undefined {
    const asked = this.asked.get(id);
    this.asked.delete(id);
    return asked;
  }

  private lost(code: number): void {
    this.detach();
    clearTimeout(this.watch);
    for (const asked of this.asked.values()) asked.reject(new Error("the connection was lost: ask again"));
    this.asked.clear();
    if (code === CLOSED.notAuthenticated && ++this.denials > 1) {
      this.deny(); // the first time it may be a ticket that was too old
      return;
    }
    if (code === CLOSED.cursorExpired) for (const follower of this.followers.values()) follower.restart();
    this.wait();
  }

  private deny(): void {
    this.set("closed");
    this.options.denied?.();
  }

  private wait(): void {
    this.set("waiting");
    const { minWait = 300, maxWait = 15_000, random = Math.random } = this.options;
    const most = Math.min(maxWait, minWait * 2 ** this.tries++);
    this.timer = setTimeout(() => void this.open(), most / 2 + (random() * most) / 2);
  }

  private heard(): void {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => this.lost(0), this.options.silence ?? 35_000);
  }

  private set(state: Connection): void {
    if (this.state === state) return;
    this.state = state;
    this.options.state?.(state);
  }
}
