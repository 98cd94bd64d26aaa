"""A server with many tools: `python -m tests.mcp.many`."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

VERBS = ("create", "list", "delete", "update", "archive", "share", "export", "import", "lock", "assign")
NOUNS = ("issue", "comment", "label", "milestone", "branch", "release", "wiki", "project", "team", "webhook")

server = MCPServer("many")


def _add(verb: str, noun: str) -> None:
    def tool(title: str, count: int = 1) -> str:
        return f"{verb} {noun}: {title} {count}"

    server.add_tool(tool, name=f"{verb}_{noun}", description=f"{verb.title()} a {noun} of a repository.")


for one in VERBS:
    for other in NOUNS:
        _add(one, other)

if __name__ == "__main__":
    server.run("stdio")
