/** What a key is good for. A server may want more than this for what loosens its security, and says so. */
import { SCOPES } from "./scopes.js";
/** What a key needs for this, at the least. */
export function neededFor(wanted) {
    return typeof wanted === "string" ? SCOPES[wanted] : wanted.scope;
}
/** Whether a key with these scopes may do this at all. */
export function allows(scopes, wanted) {
    return scopes.includes(neededFor(wanted)) || scopes.includes("admin");
}
