/** One conversation that is followed: decides which frames count. No input or output of its own. */
import type { Delta, Event } from "./events.js";
import type { Cursor, FromServer, Problem } from "./frames.js";
export interface Handlers {
    /** The events that came, each once and in order, and the deltas between them. */
    batch(items: Item[]): void;
    /** Everything up to `cursor` was sent. */
    live?(cursor: Cursor): void;
    /** Some events that were seen are gone: what was kept is void, and events come again from the first. */
    reset?(): void;
    /** Nothing more comes. */
    ended?(problem: Problem): void;
}
export type Item = {
    event: Event;
} | {
    delta: Delta;
};
/** What is to be done after a frame. */
export type Verdict = "kept" | "ignored" | "gap" | "reset" | "ended";
export declare class Follower {
    private readonly handlers;
    readonly conversation: string;
    readonly deltas: boolean;
    cursor: Cursor;
    live: boolean;
    private items;
    constructor(conversation: string, after: Partial<Cursor>, deltas: boolean, handlers: Handlers);
    /** Take a frame. After "gap" and "reset" it is to be followed anew from `cursor`. */
    take(frame: FromServer): Verdict;
    /** Hand on what came. */
    flush(): void;
    /** Begin anew, since the cursor means nothing to the server any more. */
    restart(): Verdict;
    private event;
}
