"""A server that does wrong what it is told to: `HOW=... WHEN=... python -m tests.mcp.wicked`, by hand.

WHEN is a method of the protocol; what HOW does is below. All else is done right, in the revision 2025-06-18.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

HOW, WHEN = os.environ["HOW"], os.environ["WHEN"]


def tool(name: str) -> dict[str, Any]:
    """A tool with two numbers."""
    numbers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": numbers}}


TOOLS = [tool("add"), tool("other")]
ANSWERS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}, "logging": {}},
        "serverInfo": {"name": "wicked", "version": "1"},
    },
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [{"type": "text", "text": "3"}]},
}


def send(**message: Any) -> None:
    """A message of the protocol."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(message: dict[str, Any]) -> None:
    """What a good server answers."""
    if message.get("id") is None:
        return
    if message["method"] in ANSWERS:
        send(id=message["id"], result=ANSWERS[message["method"]])
    else:
        send(id=message["id"], error={"code": -32601, "message": "no such method"})


def raw(data: bytes) -> None:
    """Bytes, whatever they are."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def die(message: dict[str, Any]) -> None:
    """End, and say why beside the protocol."""
    print("wicked on purpose", file=sys.stderr, flush=True)
    os._exit(3)


def die_after(message: dict[str, Any]) -> None:
    """Answer, and end."""
    answer(message)
    os._exit(3)


def half(message: dict[str, Any]) -> None:
    """End in the middle of an answer."""
    raw(b'{"jsonrpc": "2.0", "id": 1, "res')
    os._exit(3)


def garbage(message: dict[str, Any]) -> None:
    """Say what is no message, and nothing else."""
    raw(b"\xff\xfe\x00{{{ no JSON\n[1, 2]\n{}\nnull\n" * 200)


def wrong(message: dict[str, Any]) -> None:
    """Answer something else than was asked, to nobody and to who has asked."""
    send(id=10_000, result={})
    send(id=message.get("id", 1), result={"tools": 5, "content": {"type": "odd"}, "protocolVersion": []})


def hang(message: dict[str, Any]) -> None:
    """Say nothing any more."""
    time.sleep(600)


def flood(message: dict[str, Any]) -> None:
    """Talk, and answer after that."""
    for number in range(20_000):
        send(method="notifications/message", params={"level": "info", "data": f"line {number}"})
    answer(message)


def huge(message: dict[str, Any]) -> None:
    """Answer 100 MB."""
    send(id=message.get("id", 1), result={"content": [{"type": "text", "text": "x" * (100 << 20)}], "tools": []})


def refuse(message: dict[str, Any]) -> None:
    """Answer an error."""
    send(id=message.get("id", 1), error={"code": -32603, "message": "I would rather not \x00\ud800"})


def change(message: dict[str, Any]) -> None:
    """Have other tools in the middle of it, and answer."""
    TOOLS[:] = [tool("another")]
    send(method="notifications/tools/list_changed")
    answer(message)


WAYS: dict[str, Callable[[dict[str, Any]], None]] = {
    "die": die,
    "die_after": die_after,
    "half": half,
    "garbage": garbage,
    "wrong": wrong,
    "hang": hang,
    "flood": flood,
    "huge": huge,
    "refuse": refuse,
    "change": change,
}

if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        (WAYS[HOW] if asked.get("method") == WHEN else answer)(asked)
