/** What goes over the socket: each message is a JSON array of frames. */

import type { Delta, Event } from "./events.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** A place in a log: after event `seq`, of the epoch in which it was seen. */
export type Cursor = Required<Schemas["Cursor"]>;
/** What went wrong, as problem details (RFC 9457); `code` is stable. */
export type Problem = Schemas["Problem"];
/** What a person asks of a conversation. */
export type Control = Schemas["Control"];

export type ToServer = Schemas["FrameToServer"];
export type FromServer =
  | { type: "event"; conversation: string; event: Event }
  | { type: "delta"; conversation: string; delta: Delta }
  | { type: "live"; conversation: string; cursor: Schemas["Cursor"] }
  | Schemas["Ended"]
  | Schemas["Ack"]
  | Schemas["Refused"]
  | Schemas["Heartbeat"];

/** Why a server closes a socket, beyond what every server says. */
export const CLOSED = {
  notAuthenticated: 4001,
  notAllowed: 4003,
  missing: 4004,
  noProgress: 4008,
  garbage: 4009,
  cursorExpired: 4010,
} as const;
