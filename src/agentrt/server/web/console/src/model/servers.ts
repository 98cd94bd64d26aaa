/** The state of an MCP server, in words. */

import type { ServerStatus } from "@agentrt/client";
import { count } from "./words";

const STANDING: Record<ServerStatus["standing"], string> = {
  disabled: "disabled",
  connecting: "connecting…",
  ready: "ready",
  resting: "ready, connects on the next call",
  down: "not available",
};

const WAYS: Record<ServerStatus["way"], string> = { stdio: "process", http: "HTTP", sse: "HTTP, SSE" };

/** One line about a server. */
export function factsOf(server: ServerStatus): string {
  const facts = [STANDING[server.standing], WAYS[server.way]];
  if (server.standing !== "disabled" && server.tools.length > 0) facts.push(`${count(server.tools.length, "tool")}${server.deferred ? ", found by search" : ""}`);
  if (server.prompts.length > 0) facts.push(count(server.prompts.length, "prompt"));
  if (server.protocol) facts.push(`protocol ${server.protocol}`);
  return facts.join(" · ");
}

export type Action = "connect" | "login" | "logout";

export const ACTIONS: Record<Action, string> = { connect: "Reconnect", login: "Log in", logout: "Log out" };

/** The operation that each action needs. */
export const OPERATIONS = { connect: "connect_server", login: "log_in_at_server", logout: "log_out_at_server" } as const;

/** What a person can do about it. */
export function actionsOf(server: ServerStatus): Action[] {
  if (server.standing === "disabled" || server.standing === "connecting") return [];
  if (server.standing === "down") return server.logs_in ? ["connect", "login"] : ["connect"];
  return server.logs_in ? ["logout"] : [];
}

/** Whether an address is an HTTP address. The address of a login is untrusted. */
export function isWeb(url: string): boolean {
  return /^https?:\/\//i.test(url);
}
