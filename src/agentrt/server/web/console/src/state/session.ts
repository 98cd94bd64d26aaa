/** The server of this page, and the key for its requests. */

import { allows, type Connection, type Operation, Refused, Rest, type Scope, type ServerInfo, Stream } from "@agentrt/client";
import { effect, signal } from "@preact/signals";
import { capitalized } from "../model/words";
import { dialog, over, toast } from "./ui";

const KEY = "agentrt.key";

/** The API key, or the server's token. It is kept until the tab is closed, and sent only in a header. */
export const key = signal<string | null>(sessionStorage.getItem(KEY));

const TOKEN = "#token=";

/** Take the token out of the address that the server prints at start, so that nobody copies it with a link. */
function takeToken(): void {
  if (!location.hash.startsWith(TOKEN)) return;
  key.value = decodeURIComponent(location.hash.slice(TOKEN.length));
  sessionStorage.setItem(KEY, key.value);
  history.replaceState(null, "", location.pathname);
}
takeToken();
addEventListener("hashchange", takeToken);
export const connection = signal<Connection>("closed");
effect(() => {
  if (connection.value === "open") over("server");
});

/** Where the server answers: beside this page, which may be mounted below another application. */
const base = location.pathname.replace(/\/[^/]*$/, "");

export const rest = new Rest({ base, key: () => key.value });
export const stream = new Stream({
  url: () => rest.socketURL(),
  state: (state) => (connection.value = state),
  denied: () => askForKey(),
});

/** Facts about the server and the scopes of this key; null until it has answered. */
export const server = signal<ServerInfo | null>(null);

export async function introduce(): Promise<void> {
  const asked = key.value;
  try {
    const info = await rest.info();
    if (asked === key.value) server.value = info;
  } catch {
    // whoever asks for something else next is told why
  }
}

/** Whether the key allows this. Everything is offered until the server has answered. */
export function may(wanted: Operation | { scope: Scope }): boolean {
  return server.value === null || allows(server.value.scopes, wanted);
}

export function useKey(given: string | null): void {
  key.value = given;
  if (given === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, given);
  server.value = null;
  void introduce();
  stream.retry();
}

export function askForKey(): void {
  dialog.value = { name: "key" };
}

/** Make a request. A failure is shown in a toast, and undefined is returned. */
export async function attempt<T>(what: () => Promise<T>): Promise<T | undefined> {
  try {
    const done = await what();
    over("server");
    over("refusal");
    return done;
  } catch (error) {
    explain(error);
    return undefined;
  }
}

export function explain(error: unknown): void {
  if (error instanceof Refused && error.problem.status === 401) askForKey();
  else toast(reasonOf(error), isLocked(error) ? "quiet" : "danger", error instanceof Refused ? "refusal" : "server");
}

/** What went wrong, in a sentence. */
export function reasonOf(error: unknown): string {
  if (isLocked(error)) return "Another conversation or process is using this one. Try again when it is free.";
  if (!(error instanceof Refused)) return "The server does not answer";
  const said = capitalized(error.problem.detail || error.problem.title);
  return error.problem.code === "missing-key" && may("save_server_secret") ? `${said}, or save it in the settings of the server` : said;
}

/** Whether the conversation is open elsewhere, which passes. */
export function isLocked(error: unknown): boolean {
  return error instanceof Refused && error.problem.status === 423;
}

addEventListener("online", () => stream.retry());
