/** The conversation in the address, and the event up to which it is shown: `#/ID?at=SEQ`. */

import { signal } from "@preact/signals";

export interface Route {
  id: string | null;
  /** After which event it is shown; null: as it is now. */
  at: number | null;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.startsWith("#/") ? hash.slice(2).split("?") : [];
  const at = Number(new URLSearchParams(query).get("at"));
  return { id: path === "" ? null : decodeURIComponent(path), at: Number.isInteger(at) && at > 0 ? at : null };
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => (route.value = parse(location.hash)));

export function linkTo(id: string, at: number | null = null): string {
  return `#/${encodeURIComponent(id)}${at === null ? "" : `?at=${at}`}`;
}

export function go(id: string | null, at: number | null = null): void {
  location.hash = id === null ? "#/" : linkTo(id, at);
}

/** Change the time that is shown, without a new entry in the browser's history. */
export function goTo(at: number | null): void {
  const { id } = route.value;
  if (id === null) return;
  history.replaceState(null, "", linkTo(id, at));
  route.value = { id, at };
}
