import type { Problem } from "./frames.js";
/** The server refused; `problem` says why. */
export declare class Refused extends Error {
    readonly problem: Problem;
    constructor(problem: Problem);
}
