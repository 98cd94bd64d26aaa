/** REST calls of a server; errors are `Refused`. */

import type { Event, EventType } from "./events.js";
import type { Control, Problem } from "./frames.js";
import { Refused } from "./problems.js";
import type {
  Answer,
  ChangeConversation,
  ConversationCount,
  ConversationInfo,
  ConversationPage,
  ConversationsQuery,
  CreateConversation,
  EventCount,
  EventPage,
  FileChanges,
  FileDiff,
  FileEntry,
  FileList,
  Forked,
  GitChanges,
  GitDiff,
  Hit,
  KnownModel,
  LoginAddress,
  ModelList,
  Project,
  ProjectList,
  SearchResults,
  ServerAgent,
  ServerInfo,
  ServerList,
  ServerSecretList,
  ServerStatus,
  StateInfo,
  Ticket,
} from "./types.js";

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

type Query = Record<string, string | number | undefined>;

export class Rest {
  constructor(private readonly options: RestOptions = {}) {}

  get base(): string {
    return this.options.base ?? "";
  }

  get hasKey(): boolean {
    return Boolean(this.options.key?.());
  }

  info(): Promise<ServerInfo> {
    return this.json("GET", "/server_info");
  }

  conversations(query: ConversationsQuery = {}): Promise<ConversationPage> {
    return this.json("GET", `/conversations${search({ ...query, tag: undefined })}`);
  }

  /** How many there are. */
  async countConversations(query: Omit<ConversationsQuery, "after" | "limit" | "tag"> = {}): Promise<number> {
    return (await this.json<ConversationCount>("GET", `/conversations/count${search({ ...query })}`)).count;
  }

  create(wanted: CreateConversation): Promise<ConversationInfo> {
    return this.json("POST", "/conversations", wanted);
  }

  conversation(id: string): Promise<ConversationInfo> {
    return this.json("GET", at(id));
  }

  /** Give it another title, or other tags; what is left out stays. */
  change(id: string, wanted: ChangeConversation): Promise<ConversationInfo> {
    return this.json("PATCH", at(id), wanted);
  }

  delete(id: string): Promise<void> {
    return this.json("DELETE", at(id));
  }

  /** Carry out a control: its reply is where the log stands, or what a control of its own has to say. */
  do(id: string, control: Extract<Control, { type: "fork" }>): Promise<Forked>;
  do(id: string, control: Extract<Control, { type: "ask_agent" | "generate_title" }>): Promise<Answer>;
  do(id: string, control: Control): Promise<unknown>;
  do(id: string, control: Control): Promise<unknown> {
    const { type, ...fields } = control;
    return this.json("POST", `${at(id)}/${type}`, fields);
  }

  events(id: string, query: EventQuery = {}): Promise<EventPage> {
    return this.json("GET", `${at(id)}/events${search({ ...query })}`);
  }

  /** How many there are; of a long log in several steps. */
  async countEvents(id: string, query: Omit<EventQuery, "limit" | "order"> = {}): Promise<number> {
    let count = 0;
    let epoch = query.epoch;
    for (let after: number | null = query.after ?? 0; after !== null; ) {
      const told: EventCount = await this.json("GET", `${at(id)}/events/count${search({ ...query, after, epoch })}`);
      epoch = told.cursor.epoch;
      count += told.count;
      after = told.next;
    }
    return count;
  }

  /** At least `limit` events before one of an epoch, where there are so many: in order, without a gap, up to it. */
  async eventsBefore(id: string, before: number | undefined, limit: number, epoch = 0): Promise<EventPage> {
    let page = await this.events(id, { before, epoch, limit, order: "desc" });
    const { cursor } = page;
    const [items, gaps] = [[...page.items], [...(page.gaps ?? [])]];
    while (page.next !== null && items.length < limit) {
      page = await this.events(id, { before: page.next, epoch: cursor.epoch, limit: limit - items.length, order: "desc" });
      items.push(...page.items);
      gaps.push(...(page.gaps ?? []));
    }
    return { items: items.reverse(), next: page.next, cursor, gaps: gaps.reverse() };
  }

  /** All events of some types after one of an epoch, the oldest first, and up to where the log was read. */
  async eventsOf(id: string, types: EventType[], after = 0, epoch = 0): Promise<{ events: Event[]; upto: number }> {
    const query = { type: types.join(","), limit: 1000 };
    let page = await this.events(id, { ...query, after, epoch });
    const events = [...page.items];
    const upto = page.cursor.seq ?? 0;
    while (page.next !== null) {
      page = await this.events(id, { ...query, after: page.next, epoch: page.cursor.epoch });
      events.push(...page.items);
    }
    return { events: events.filter((event) => event.seq <= upto), upto };
  }

  event(id: string, seq: number): Promise<Event> {
    return this.json("GET", `${at(id)}/events/${seq}`);
  }

  /** How it stands, or stood after an event. */
  state(id: string, seq?: number, epoch = 0): Promise<StateInfo> {
    return this.json("GET", `${at(id)}/state${search({ at: seq, epoch })}`);
  }

  servers(id: string): Promise<ServerList> {
    return this.json("GET", `${at(id)}/servers`);
  }

  /** Try again to connect to an MCP server that is down. */
  connectServer(id: string, name: string): Promise<ServerStatus> {
    return this.json("POST", `${at(id)}/servers/${encodeURIComponent(name)}/connect`);
  }

  /** The address at which a person logs in at an MCP server; this browser keeps a cookie that ends the login. */
  logInAtServer(id: string, name: string): Promise<LoginAddress> {
    return this.json("POST", `${at(id)}/servers/${encodeURIComponent(name)}/login`, undefined, "same-origin");
  }

  /** Forget the tokens of a login. */
  logOutAtServer(id: string, name: string): Promise<ServerStatus> {
    return this.json("POST", `${at(id)}/servers/${encodeURIComponent(name)}/logout`);
  }

  /** What is in a directory of the workspace, or was after an event. */
  files(id: string, path = "", seq?: number): Promise<FileList> {
    return this.json("GET", `${at(id)}/files${search({ path, at: seq })}`);
  }

  /** A file of the workspace, as it is or was after an event; of one as it is `most` bytes, where that is given. */
  async file(id: string, path: string, seq?: number, most?: number): Promise<Blob> {
    const range: Record<string, string> = most === undefined ? {} : { Range: `bytes=0-${most - 1}` };
    return (await this.send("GET", `${at(id)}/files/content${search({ path, at: seq })}`, undefined, "omit", range)).blob();
  }

  /** A directory of the workspace as a zip archive. */
  async archive(id: string, path = ""): Promise<Blob> {
    return (await this.send("GET", `${at(id)}/files/archive${search({ path })}`)).blob();
  }

  /** Write a file of the workspace whole; one that is there is replaced. */
  writeFile(id: string, path: string, content: Blob): Promise<FileEntry> {
    return this.json("PUT", `${at(id)}/files/content${search({ path })}`, content);
  }

  /** Directories in which a new conversation may work: recent ones, and those whose paths begin as typed. */
  projects(path = "", limit = 20): Promise<ProjectList> {
    return this.json("GET", `/projects${search({ path, limit })}`);
  }

  /** The repository and the branch of the workspace. */
  project(id: string): Promise<Project> {
    return this.json("GET", `${at(id)}/project`);
  }

  /** The agent of conversations that are begun without their own; for admins. */
  serverAgent(): Promise<ServerAgent> {
    return this.json("GET", "/settings/agent");
  }

  /** Change fields of the server's agent, and set others back to what the server was started with. */
  changeServerAgent(changes: Record<string, unknown>, reset: string[] = []): Promise<ServerAgent> {
    return this.json("PATCH", "/settings/agent", { changes, reset });
  }

  /** The keys of providers, and other secrets of the server, without their values. */
  serverSecrets(): Promise<ServerSecretList> {
    return this.json("GET", "/settings/secrets");
  }

  /** Save the key of a provider, under the name of its variable, or a secret that an MCP server refers to. */
  saveServerSecret(name: string, value: string): Promise<ServerSecretList> {
    return this.json("PUT", `/settings/secrets/${encodeURIComponent(name)}`, { value });
  }

  removeServerSecret(name: string): Promise<void> {
    return this.json("DELETE", `/settings/secrets/${encodeURIComponent(name)}`);
  }

  /** Models that a conversation may have, and what they cost; those that are known by words of their names. */
  models(query = "", limit = 50): Promise<ModelList> {
    return this.json("GET", `/models${search({ query, limit })}`);
  }

  /** What is known of the model that answers in a conversation. */
  model(id: string): Promise<KnownModel> {
    return this.json("GET", `${at(id)}/model`);
  }

  /** Which files were not the same after two events, and who changed them. */
  fileChanges(id: string, since: number, until: number): Promise<FileChanges> {
    return this.json("GET", `${at(id)}/checkpoints/changes${search({ since, until })}`);
  }

  /** How a file differs between two events. */
  fileDiff(id: string, since: number, until: number, path = ""): Promise<FileDiff> {
    return this.json("GET", `${at(id)}/checkpoints/diff${search({ since, until, path })}`);
  }

  changes(id: string): Promise<GitChanges> {
    return this.json("GET", `${at(id)}/git/changes`);
  }

  diff(id: string, path: string): Promise<GitDiff> {
    return this.json("GET", `${at(id)}/git/diff${search({ path })}`);
  }

  /** Where these words stand, in all conversations. */
  async search(query: string, limit = 30): Promise<Hit[]> {
    return (await this.json<SearchResults>("GET", `/search${search({ query, limit })}`)).items;
  }

  /** Bytes that an event refers to, by their SHA-256. */
  async blob(id: string, sha256: string): Promise<Blob> {
    return (await this.send("GET", `${at(id)}/blobs/${encodeURIComponent(sha256)}`)).blob();
  }

  /** The URL of a new socket; where there is a key, with a ticket that is good for one use and a short time. */
  async socketURL(): Promise<string> {
    const base = new URL(`${this.base}/events`, globalThis.location?.href);
    base.protocol = base.protocol.replace("http", "ws");
    if (this.hasKey) {
      const { ticket } = await this.json<Ticket>("POST", "/tickets");
      base.searchParams.set("ticket", ticket);
    }
    return base.href;
  }

  private async json<T>(method: string, path: string, body?: unknown, credentials: RequestCredentials = "omit"): Promise<T> {
    const response = await this.send(method, path, body, credentials);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  private async send(method: string, path: string, body?: unknown, credentials: RequestCredentials = "omit", more: Record<string, string> = {}): Promise<Response> {
    const headers: Record<string, string> = { ...more };
    const key = this.options.key?.();
    const file = body instanceof Blob;
    if (key) headers.Authorization = `Bearer ${key}`;
    if (body !== undefined) headers["Content-Type"] = file ? "application/octet-stream" : "application/json";
    const request: RequestInit = { method, headers, cache: "no-store", credentials };
    if (body !== undefined) request.body = file ? body : JSON.stringify(body);
    const response = await (this.options.fetch ?? fetch)(this.base + path, request);
    if (!response.ok) throw new Refused(await problemOf(response));
    return response;
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const fallback = { title: response.statusText || "The server refused", status: response.status };
  try {
    return { ...fallback, ...((await response.json()) as Partial<Problem>) };
  } catch {
    return fallback;
  }
}

function at(id: string): string {
  return `/conversations/${encodeURIComponent(id)}`;
}

function search(query: Query): string {
  const given = Object.entries(query).filter((pair): pair is [string, string | number] => pair[1] !== undefined && pair[1] !== "");
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length > 0 ? `?${parameters}` : "";
}
