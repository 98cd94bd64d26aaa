/** What a key is good for. A server may want more than this for what loosens its security, and says so. */
import { SCOPES } from "./scopes.js";
export type Operation = keyof typeof SCOPES;
export type Scope = (typeof SCOPES)[Operation] | "admin";
/** What a key needs for this, at the least. */
export declare function neededFor(wanted: Operation | {
    scope: Scope;
}): Scope;
/** Whether a key with these scopes may do this at all. */
export declare function allows(scopes: readonly string[], wanted: Operation | {
    scope: Scope;
}): boolean;
