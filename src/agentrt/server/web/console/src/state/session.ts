/** The server that this page came from, and the key that it is asked with. */

import { allows, type Connection, type Operation, Refused, Rest, type Scope, type ServerInfo, Stream } from "@agentrt/client";
import { effect, signal } from "@preact/signals";
import { capitalized } from "../model/words";
import { dialog, over, toast } from "./ui";

const KEY = "agentrt.key";

/** The API key, or the server's token; it is kept as long as this tab, and sent in a header only. */
export const key = signal<string | null>(sessionStorage.getItem(KEY));

const TOKEN = "#token=";

/** Take the token out of the address that the server shows when it starts: nobody should copy it with a link. */
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

/** What the server says of itself, and of what this key may do; null until it has answered. */
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

/** Whether the key allows this; until the server has said what it does, all is offered. */
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

/** Do something with the server; what it refuses is said, and undefined comes back. */
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
  if (isLocked(error)) return "Another conversation, or another process, is at work on this one: try again once it rests";
  return error instanceof Refused ? capitalized(error.problem.detail || error.problem.title) : "The server does not answer";
}

/** Whether someone else has the conversation open, which passes. */
export function isLocked(error: unknown): boolean {
  return error instanceof Refused && error.problem.status === 423;
}

addEventListener("online", () => stream.retry());
