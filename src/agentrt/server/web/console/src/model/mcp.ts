/** MCP servers as people write them: a command, an address, or the configuration that a server publishes. Pure. */

export type Written = Record<string, unknown>;

/** The servers in a text, by name; a sentence if it is not complete. */
export function serversIn(name: string, text: string): Record<string, Written> | string {
  const given = text.trim();
  if (!given.startsWith("{")) {
    if (!name) return "Give the server a name.";
    if (/^https?:\/\//i.test(given)) return { [name]: { url: given } };
    const [command = "", ...args] = words(given);
    return { [name]: { command, args } };
  }
  const found = objectIn(given);
  if (found === null) return "This is not a JSON object.";
  const servers = isObject(found.mcpServers) ? found.mcpServers : found;
  if (typeof servers.command === "string" || typeof servers.url === "string") return name ? { [name]: servers } : "Give the server a name.";
  const wrong = Object.entries(servers).find(([, one]) => !isObject(one));
  if (wrong !== undefined) return `${wrong[0]} is not the configuration of a server: it needs a command or a url.`;
  return Object.keys(servers).length > 0 ? (servers as Record<string, Written>) : "There is no server in it.";
}

/** The words of a command; quotes hold words together. */
export function words(command: string): string[] {
  const found = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return found.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""));
}

/** What is started, or the address. */
export function whereOf({ command, args, url }: { command?: string; args?: string[]; url?: string }): string {
  return command ? [command, ...(args ?? [])].join(" ") : (url ?? "");
}

function objectIn(text: string): Written | null {
  try {
    const found: unknown = JSON.parse(text);
    return isObject(found) ? found : null;
  } catch {
    return null;
  }
}

function isObject(given: unknown): given is Written {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}
