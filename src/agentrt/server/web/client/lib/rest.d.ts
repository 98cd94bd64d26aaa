/** REST calls of a server; errors are `Refused`. */
import type { Event, EventType } from "./events.js";
import type { Control } from "./frames.js";
import type { Answer, ChangeConversation, ConversationInfo, ConversationPage, ConversationsQuery, CreateConversation, EventPage, FileChanges, FileDiff, FileEntry, FileList, Forked, GitChanges, GitDiff, Hit, KnownModel, LoginAddress, ModelList, Project, ProjectList, ServerAgent, ServerInfo, ServerList, ServerSecretList, ServerStatus, StateInfo } from "./types.js";
export interface RestOptions {
    /** Where the server answers, without a slash at the end; "": where this page comes from. */
    base?: string;
    /** The API key, where there is one. It goes into a header and nowhere else. */
    key?: () => string | null;
    fetch?: typeof fetch;
}
export interface EventQuery {
    after?: number;
    before?: number | undefined;
    /** That of the cursor that `after` or `before` comes from: 0, unless events were lost. */
    epoch?: number | undefined;
    limit?: number;
    order?: "asc" | "desc";
    type?: string;
    source?: string;
    /** Times as in RFC 3339: `date.toISOString()` makes one. The first is in, the second is not. */
    since?: string;
    until?: string;
    /** Part of what was said, called or observed, in any case. */
    text?: string;
}
export declare class Rest {
    private readonly options;
    constructor(options?: RestOptions);
    get base(): string;
    get hasKey(): boolean;
    info(): Promise<ServerInfo>;
    conversations(query?: ConversationsQuery): Promise<ConversationPage>;
    /** How many there are. */
    countConversations(query?: Omit<ConversationsQuery, "after" | "limit" | "tag">): Promise<number>;
    create(wanted: CreateConversation): Promise<ConversationInfo>;
    conversation(id: string): Promise<ConversationInfo>;
    /** Give it another title, or other tags; what is left out stays. */
    change(id: string, wanted: ChangeConversation): Promise<ConversationInfo>;
    delete(id: string): Promise<void>;
    /** Carry out a control: its reply is where the log stands, or what a control of its own has to say. */
    do(id: string, control: Extract<Control, {
        type: "fork";
    }>): Promise<Forked>;
    do(id: string, control: Extract<Control, {
        type: "ask_agent" | "generate_title";
    }>): Promise<Answer>;
    do(id: string, control: Control): Promise<unknown>;
    events(id: string, query?: EventQuery): Promise<EventPage>;
    /** How many there are; of a long log in several steps. */
    countEvents(id: string, query?: Omit<EventQuery, "limit" | "order">): Promise<number>;
    /** At least `limit` events before one of an epoch, where there are so many: in order, without a gap, up to it. */
    eventsBefore(id: string, before: number | undefined, limit: number, epoch?: number): Promise<EventPage>;
    /** All events of some types after one of an epoch, the oldest first, and up to where the log was read. */
    eventsOf(id: string, types: EventType[], after?: number, epoch?: number): Promise<{
        events: Event[];
        upto: number;
    }>;
    event(id: string, seq: number): Promise<Event>;
    /** How it stands, or stood after an event. */
    state(id: string, seq?: number, epoch?: number): Promise<StateInfo>;
    servers(id: string): Promise<ServerList>;
    /** Try again to connect to an MCP server that is down. */
    connectServer(id: string, name: string): Promise<ServerStatus>;
    /** The address at which a person logs in at an MCP server; this browser keeps a cookie that ends the login. */
    logInAtServer(id: string, name: string): Promise<LoginAddress>;
    /** Forget the tokens of a login. */
    logOutAtServer(id: string, name: string): Promise<ServerStatus>;
    /** What is in a directory of the workspace, or was after an event. */
    files(id: string, path?: string, seq?: number): Promise<FileList>;
    /** A file of the workspace, as it is or was after an event; of one as it is `most` bytes, where that is given. */
    file(id: string, path: string, seq?: number, most?: number): Promise<Blob>;
    /** A directory of the workspace as a zip archive. */
    archive(id: string, path?: string): Promise<Blob>;
    /** Write a file of the workspace whole; one that is there is replaced. */
    writeFile(id: string, path: string, content: Blob): Promise<FileEntry>;
    /** Directories in which a new conversation may work: recent ones, and those whose paths begin as typed. */
    projects(path?: string, limit?: number): Promise<ProjectList>;
    /** The repository and the branch of the workspace. */
    project(id: string): Promise<Project>;
    /** The agent of conversations that are begun without their own; for admins. */
    serverAgent(): Promise<ServerAgent>;
    /** Change fields of the server's agent, and set others back to what the server was started with. */
    changeServerAgent(changes: Record<string, unknown>, reset?: string[]): Promise<ServerAgent>;
    /** The keys of providers, and other secrets of the server, without their values. */
    serverSecrets(): Promise<ServerSecretList>;
    /** Save the key of a provider, under the name of its variable, or a secret that an MCP server refers to. */
    saveServerSecret(name: string, value: string): Promise<ServerSecretList>;
    removeServerSecret(name: string): Promise<void>;
    /** Models that a conversation may have, and what they cost; those that are known by words of their names. */
    models(query?: string, limit?: number): Promise<ModelList>;
    /** What is known of the model that answers in a conversation. */
    model(id: string): Promise<KnownModel>;
    /** Which files were not the same after two events, and who changed them. */
    fileChanges(id: string, since: number, until: number): Promise<FileChanges>;
    /** How a file differs between two events. */
    fileDiff(id: string, since: number, until: number, path?: string): Promise<FileDiff>;
    changes(id: string): Promise<GitChanges>;
    diff(id: string, path: string): Promise<GitDiff>;
    /** Where these words stand, in all conversations. */
    search(query: string, limit?: number): Promise<Hit[]>;
    /** Bytes that an event refers to, by their SHA-256. */
    blob(id: string, sha256: string): Promise<Blob>;
    /** The URL of a new socket; where there is a key, with a ticket that is good for one use and a short time. */
    socketURL(): Promise<string>;
    private json;
    private send;
}
