/** REST calls of a server; errors are `Refused`. */
import { Refused } from "./problems.js";
export class Rest {
    options;
    constructor(options = {}) {
        this.options = options;
    }
    get base() {
        return this.options.base ?? "";
    }
    get hasKey() {
        return Boolean(this.options.key?.());
    }
    info() {
        return this.json("GET", "/server_info");
    }
    conversations(query = {}) {
        return this.json("GET", `/conversations${search({ ...query, tag: undefined })}`);
    }
    /** How many there are. */
    async countConversations(query = {}) {
        return (await this.json("GET", `/conversations/count${search({ ...query })}`)).count;
    }
    create(wanted) {
        return this.json("POST", "/conversations", wanted);
    }
    conversation(id) {
        return this.json("GET", at(id));
    }
    /** Give it another title, or other tags; what is left out stays. */
    change(id, wanted) {
        return this.json("PATCH", at(id), wanted);
    }
    delete(id) {
        return this.json("DELETE", at(id));
    }
    do(id, control) {
        const { type, ...fields } = control;
        return this.json("POST", `${at(id)}/${type}`, fields);
    }
    events(id, query = {}) {
        return this.json("GET", `${at(id)}/events${search({ ...query })}`);
    }
    /** How many there are; of a long log in several steps. */
    async countEvents(id, query = {}) {
        let count = 0;
        let epoch = query.epoch;
        for (let after = query.after ?? 0; after !== null;) {
            const told = await this.json("GET", `${at(id)}/events/count${search({ ...query, after, epoch })}`);
            epoch = told.cursor.epoch;
            count += told.count;
            after = told.next;
        }
        return count;
    }
    /** At least `limit` events before one of an epoch, where there are so many: in order, without a gap, up to it. */
    async eventsBefore(id, before, limit, epoch = 0) {
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
    async eventsOf(id, types, after = 0, epoch = 0) {
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
    event(id, seq) {
        return this.json("GET", `${at(id)}/events/${seq}`);
    }
    /** How it stands, or stood after an event. */
    state(id, seq, epoch = 0) {
        return this.json("GET", `${at(id)}/state${search({ at: seq, epoch })}`);
    }
    servers(id) {
        return this.json("GET", `${at(id)}/servers`);
    }
    /** Try again to connect to an MCP server that is down. */
    connectServer(id, name) {
        return this.json("POST", `${at(id)}/servers/${encodeURIComponent(name)}/connect`);
    }
    /** The address at which a person logs in at an MCP server; this browser keeps a cookie that ends the login. */
    logInAtServer(id, name) {
        return this.json("POST", `${at(id)}/servers/${encodeURIComponent(name)}/login`, undefined, "same-origin");
    }
    /** Forget the tokens of a login. */
    logOutAtServer(id, name) {
        return this.json("POST", `${at(id)}/servers/${encodeURIComponent(name)}/logout`);
    }
    /** What is in a directory of the workspace, or was after an event. */
    files(id, path = "", seq) {
        return this.json("GET", `${at(id)}/files${search({ path, at: seq })}`);
    }
    /** A file of the workspace, as it is or was after an event; of one as it is `most` bytes, where that is given. */
    async file(id, path, seq, most) {
        const range = most === undefined ? {} : { Range: `bytes=0-${most - 1}` };
        return (await this.send("GET", `${at(id)}/files/content${search({ path, at: seq })}`, undefined, "omit", range)).blob();
    }
    /** A directory of the workspace as a zip archive. */
    async archive(id, path = "") {
        return (await this.send("GET", `${at(id)}/files/archive${search({ path })}`)).blob();
    }
    /** Write a file of the workspace whole; one that is there is replaced. */
    writeFile(id, path, content) {
        return this.json("PUT", `${at(id)}/files/content${search({ path })}`, content);
    }
    /** Directories in which a new conversation may work: recent ones, and those whose paths begin as typed. */
    projects(path = "", limit = 20) {
        return this.json("GET", `/projects${search({ path, limit })}`);
    }
    /** The repository and the branch of the workspace. */
    project(id) {
        return this.json("GET", `${at(id)}/project`);
    }
    /** The agent of conversations that are begun without their own; for admins. */
    serverAgent() {
        return this.json("GET", "/settings/agent");
    }
    /** Change fields of the server's agent, and set others back to what the server was started with. */
    changeServerAgent(changes, reset = []) {
        return this.json("PATCH", "/settings/agent", { changes, reset });
    }
    /** The keys of providers, and other secrets of the server, without their values. */
    serverSecrets() {
        return this.json("GET", "/settings/secrets");
    }
    /** Save the key of a provider, under the name of its variable, or a secret that an MCP server refers to. */
    saveServerSecret(name, value) {
        return this.json("PUT", `/settings/secrets/${encodeURIComponent(name)}`, { value });
    }
    removeServerSecret(name) {
        return this.json("DELETE", `/settings/secrets/${encodeURIComponent(name)}`);
    }
    /** Models that a conversation may have, and what they cost; those that are known by words of their names. */
    models(query = "", limit = 50) {
        return this.json("GET", `/models${search({ query, limit })}`);
    }
    /** What is known of the model that answers in a conversation. */
    model(id) {
        return this.json("GET", `${at(id)}/model`);
    }
    /** Which files were not the same after two events, and who changed them. */
    fileChanges(id, since, until) {
        return this.json("GET", `${at(id)}/checkpoints/changes${search({ since, until })}`);
    }
    /** How a file differs between two events. */
    fileDiff(id, since, until, path = "") {
        return this.json("GET", `${at(id)}/checkpoints/diff${search({ since, until, path })}`);
    }
    changes(id) {
        return this.json("GET", `${at(id)}/git/changes`);
    }
    diff(id, path) {
        return this.json("GET", `${at(id)}/git/diff${search({ path })}`);
    }
    /** Where these words stand, in all conversations. */
    async search(query, limit = 30) {
        return (await this.json("GET", `/search${search({ query, limit })}`)).items;
    }
    /** Bytes that an event refers to, by their SHA-256. */
    async blob(id, sha256) {
        return (await this.send("GET", `${at(id)}/blobs/${encodeURIComponent(sha256)}`)).blob();
    }
    /** The URL of a new socket; where there is a key, with a ticket that is good for one use and a short time. */
    async socketURL() {
        const base = new URL(`${this.base}/events`, globalThis.location?.href);
        base.protocol = base.protocol.replace("http", "ws");
        if (this.hasKey) {
            const { ticket } = await this.json("POST", "/tickets");
            base.searchParams.set("ticket", ticket);
        }
        return base.href;
    }
    async json(method, path, body, credentials = "omit") {
        const response = await this.send(method, path, body, credentials);
        return (response.status === 204 ? undefined : await response.json());
    }
    async send(method, path, body, credentials = "omit", more = {}) {
        const headers = { ...more };
        const key = this.options.key?.();
        const file = body instanceof Blob;
        if (key)
            headers.Authorization = `Bearer ${key}`;
        if (body !== undefined)
            headers["Content-Type"] = file ? "application/octet-stream" : "application/json";
        const request = { method, headers, cache: "no-store", credentials };
        if (body !== undefined)
            request.body = file ? body : JSON.stringify(body);
        const response = await (this.options.fetch ?? fetch)(this.base + path, request);
        if (!response.ok)
            throw new Refused(await problemOf(response));
        return response;
    }
}
async function problemOf(response) {
    const fallback = { title: response.statusText || "The server refused", status: response.status };
    try {
        return { ...fallback, ...(await response.json()) };
    }
    catch {
        return fallback;
    }
}
function at(id) {
    return `/conversations/${encodeURIComponent(id)}`;
}
function search(query) {
    const given = Object.entries(query).filter((pair) => pair[1] !== undefined && pair[1] !== "");
    const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    return given.length > 0 ? `?${parameters}` : "";
}
