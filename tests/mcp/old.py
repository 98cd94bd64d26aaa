"""A server of the first revision, 2024-11-05, by hand: `python -m tests.mcp.old`. It knows nothing of later ones."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {"name": "places", "description": "The directories in which it may work.", "inputSchema": {"type": "object"}}
ANSWERS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "old", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Answer until the input ends."""
    calls = list[Any]()
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"id": id, "method": "tools/call"}:
                calls.append(id)
                send(method="notifications/message", params={"level": "info", "data": "asked for roots"})
                send(id="roots", method="roots/list")
            case {"id": "roots", "result": {"roots": roots}}:
                said = " ".join(root["uri"] for root in roots)
                send(id=calls.pop(), result={"content": [{"type": "text", "text": said}]})
            case {"id": id, "method": method} if method in ANSWERS:
                send(id=id, result=ANSWERS[method])
            case {"id": id, "method": method}:
                send(id=id, error={"code": -32601, "message": f"no method {method}"})


if __name__ == "__main__":
    main()
