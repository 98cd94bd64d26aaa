/** A socket that stays: it reconnects, resumes every conversation from its cursor, and answers heartbeats. */
import { type Handlers } from "./follower.js";
import { type Control, type Cursor } from "./frames.js";
export type Connection = "connecting" | "open" | "waiting" | "closed";
export interface StreamOptions {
    /** The URL of a new socket, with a ticket where there is a key. It may fail: then it is tried again. */
    url: () => Promise<string>;
    state?: (connection: Connection) => void;
    /** The server does not know us: nothing is tried until `retry()`. */
    denied?: () => void;
    WebSocket?: typeof WebSocket;
    /** Milliseconds; the wait before a new try is between the two, and doubles with each. */
    minWait?: number;
    maxWait?: number;
    /** Milliseconds without a frame after which the connection counts as lost. */
    silence?: number;
    random?: () => number;
}
export declare class Stream {
    private readonly options;
    private socket;
    private readonly followers;
    private readonly asked;
    private tries;
    private denials;
    private timer;
    private watch;
    private state;
    private count;
    private opening;
    constructor(options: StreamOptions);
    /** Follow a conversation; the function that is returned ends it. */
    follow(conversation: string, after: Partial<Cursor>, handlers: Handlers, deltas?: boolean): () => void;
    /** Carry out a control over the socket. Rejects with `Refused`, or when the connection is lost before the answer. */
    do(conversation: string, control: Control): Promise<unknown>;
    /** Connect now, whatever was waited for: the network is back, or there is a new key. */
    retry(): void;
    close(): void;
    private open;
    private attach;
    private detach;
    private take;
    /** Whether it goes on being followed. */
    private follows;
    private ask;
    private send;
    private settle;
    private lost;
    private deny;
    private wait;
    private heard;
    private set;
}
