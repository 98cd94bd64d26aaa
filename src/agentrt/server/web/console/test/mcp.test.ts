import { expect, test } from "vitest";
import { serversIn, whereOf, words } from "../src/model/mcp";

test("a command and an address", () => {
  expect(serversIn("files", " npx -y server-files '/my files' ")).toEqual({ files: { command: "npx", args: ["-y", "server-files", "/my files"] } });
  expect(serversIn("docs", "https://docs.example.org/mcp")).toEqual({ docs: { url: "https://docs.example.org/mcp" } });
  expect(serversIn("", "npx")).toBe("Give the server a name.");
});

test("the configuration that a server publishes", () => {
  const one = { command: "uvx", args: ["tracker"], env: { TOKEN: "abc" } };
  expect(serversIn("", JSON.stringify({ mcpServers: { tracker: one } }))).toEqual({ tracker: one });
  expect(serversIn("", JSON.stringify({ tracker: one }))).toEqual({ tracker: one });
  expect(serversIn("mine", JSON.stringify(one))).toEqual({ mine: one });
  expect(serversIn("", JSON.stringify(one))).toBe("Give the server a name.");
});

test("what is no configuration is told", () => {
  expect(serversIn("", "{")).toBe("This is not a JSON object.");
  expect(serversIn("", "{}")).toBe("There is no server in it.");
  expect(serversIn("", '{"mcpServers": {"a": "npx"}}')).toBe("a is not the configuration of a server: it needs a command or a url.");
});

test("quotes hold words together", () => {
  expect(words(`a "b c" d='e f' ""`)).toEqual(["a", "b c", "d=e f", ""]);
  expect(whereOf({ command: "a", args: ["b"] })).toBe("a b");
  expect(whereOf({ url: "http://x" })).toBe("http://x");
});
