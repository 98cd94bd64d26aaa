/** The server that this page came from, and the key that it is asked with. */

import { type Connection, Refused, Rest, Stream } from "@agentrt/client";
import { signal } from "@preact/signals";
import { dialog, toast } from "./ui";

const KEY = "agentrt.key";

/** The API key; it is kept as long as this tab, and sent in a header only. */
export const key = signal<string | null>(sessionStorage.getItem(KEY));
export const connection = signal<Connection>("closed");

export const rest = new Rest({ key: () => key.value });
export const stream = new Stream({
  url: () => rest.socketURL(),
  state: (state) => (connection.value = state),
  denied: () => askForKey(),
});

export function useKey(given: string | null): void {
  key.value = given;
  if (given === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, given);
  stream.retry();
}

export function askForKey(): void {
  dialog.value = { name: "key" };
}

/** Do something with the server; what it refuses is said, and undefined comes back. */
export async function attempt<T>(what: () => Promise<T>): Promise<T | undefined> {
  try {
    return await what();
  } catch (error) {
    explain(error);
    return undefined;
  }
}

export function explain(error: unknown): void {
  if (error instanceof Refused && error.problem.status === 401) askForKey();
  else if (error instanceof Refused) toast(error.problem.detail || error.problem.title, "danger");
  else toast("The server does not answer", "danger");
}

addEventListener("online", () => stream.retry());
