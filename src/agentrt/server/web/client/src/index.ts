export * from "./events";
export * from "./frames";
export { Follower, type Handlers, type Item } from "./follower";
export { Refused } from "./problems";
export { Rest, type EventQuery, type RestOptions } from "./rest";
export { allows, neededFor, type Operation, type Scope } from "./permissions";
export { Stream, type Connection, type StreamOptions } from "./stream";
export * from "./types";
