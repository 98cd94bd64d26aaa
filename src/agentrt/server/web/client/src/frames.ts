/** What goes over the socket: each message is a JSON array of frames. */

import type { Delta, Event } from "./events";

/** A place in a log: after event `seq`, of the epoch in which it was seen. */
export interface Cursor {
  epoch: number;
  seq: number;
}

/** What went wrong, as problem details (RFC 9457); `code` is stable. */
export interface Problem {
  title: string;
  status: number;
  detail?: string;
  code?: string;
}

export type Control = { type: string } & Record<string, unknown>;

export type ToServer =
  | { type: "follow"; conversation: string; after: Cursor; deltas: boolean }
  | { type: "unfollow"; conversation: string }
  | { type: "do"; id: string; conversation: string; control: Control }
  | { type: "alive" };

export type FromServer =
  | { type: "event"; conversation: string; event: Event }
  | { type: "delta"; conversation: string; delta: Delta }
  | { type: "live"; conversation: string; cursor: Cursor }
  | { type: "ended"; conversation: string; problem: Problem }
  | { type: "ack"; id: string; reply: unknown }
  | { type: "refused"; id?: string; problem: Problem }
  | { type: "heartbeat" };

/** Why a server closes a socket, beyond what every server says. */
export const CLOSED = {
  notAuthenticated: 4001,
  notAllowed: 4003,
  missing: 4004,
  noProgress: 4008,
  garbage: 4009,
  cursorExpired: 4010,
} as const;
