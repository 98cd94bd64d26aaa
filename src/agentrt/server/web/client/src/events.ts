/** The events of a conversation, as the server sends them; fields with their default value are left out. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** What the log adds to each event. */
interface Logged {
  seq: number;
  id: string;
  timestamp: string;
}

type InLog<T> = T extends unknown ? Omit<T, keyof Logged> & Logged : never;

/** An event. A server that is newer than this client may send one of a type that is not among these. */
export type Event = InLog<Schemas["Event"]>;
export type EventType = Event["type"];
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;

/** A piece of something that still grows, void once the event `becomes` is there. */
export type Delta = Omit<Schemas["Delta"], "type">;
export type Content = EventOf<"MessageEvent">["content"][number];
export type Risk = Schemas["SecurityRisk"];
export type PermissionRule = Schemas["PermissionRule"];
