export * from "./events.js";
export * from "./frames.js";
export { Follower } from "./follower.js";
export { Refused } from "./problems.js";
export { Rest } from "./rest.js";
export { allows, neededFor } from "./permissions.js";
export { Stream } from "./stream.js";
export * from "./types.js";
