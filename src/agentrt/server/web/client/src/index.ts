export * from "./events.js";
export * from "./frames.js";
export { Follower, type Handlers, type Item } from "./follower.js";
export { Refused } from "./problems.js";
export { Rest, type EventQuery, type RestOptions } from "./rest.js";
export { allows, neededFor, type Operation, type Scope } from "./permissions.js";
export { Stream, type Connection, type StreamOptions } from "./stream.js";
export * from "./types.js";
