export type { components, operations, paths } from "../src/schema.js";
