"""A server that does wrong what it is told to: `HOW=... WHEN=... [PORT=...] python -m tests.mcp.wicked`, by hand.

WHEN is a method of the protocol; what HOW does is below. All else is done right, in the revision 2025-06-18, on the
standard streams or, with a port, over HTTP.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


def tool(name: str, **more: Any) -> dict[str, Any]:
    """A tool with two numbers."""
    numbers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": numbers}, **more}


TOOLS = [tool("add"), tool("other"), tool("as_task", execution={"taskSupport": "required"})]
NOTE = {"uri": "notes://today", "name": "today"}
WORDS = {"type": "text", "text": "3"}
ANSWERS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}, "logging": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "wicked", "version": "1"},
    },
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [WORDS]},
    "resources/list": {"resources": [NOTE]},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": [{**NOTE, "text": "Buy milk."}]},
    "prompts/list": {"prompts": [{"name": "review"}]},
    "prompts/get": {"messages": [{"role": "user", "content": WORDS}]},
}


class Wire(Protocol):
    """Where a server answers."""

    def raw(self, data: bytes) -> None:
        """Send bytes, whatever they are."""

    def send(self, **message: Any) -> None:
        """Send a message of the protocol."""

    def refuse(self, status: int, **headers: str) -> None:
        """Answer with an error of HTTP, where there is HTTP."""


class Streams:
    """The standard streams."""

    def raw(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def send(self, **message: Any) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def refuse(self, status: int, **headers: str) -> None:
        os._exit(3)


class Web(BaseHTTPRequestHandler):
    """An answer over HTTP: a stream of events, which begins with its first message."""

    protocol_version = "HTTP/1.1"
    begun = False

    def log_message(self, *given: Any) -> None: ...

    def do_POST(self) -> None:
        self.begun = False
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        do(asked, self)
        if not self.begun:
            self.refuse(202)
        elif not self.close_connection:
            self.wfile.write(b"0\r\n\r\n")

    def do_GET(self) -> None:
        self.refuse(405)

    def do_DELETE(self) -> None:
        self.refuse(200)

    def refuse(self, status: int, **headers: str) -> None:
        self.begun, self.close_connection = True, True
        self.send_response(status)
        for name, value in {**headers, "content-length": "0", "connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def raw(self, data: bytes) -> None:
        if not self.begun:
            self.begun = True
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def send(self, **message: Any) -> None:
        self.raw(b"event: message\ndata: %b\n\n" % json.dumps({"jsonrpc": "2.0", **message}).encode())


def answer(message: dict[str, Any], wire: Wire) -> None:
    """What a good server answers."""
    if message.get("id") is None:
        return
    if message["method"] in ANSWERS:
        wire.send(id=message["id"], result=ANSWERS[message["method"]])
    else:
        wire.send(id=message["id"], error={"code": -32601, "message": "no such method"})


def die(message: dict[str, Any], wire: Wire) -> None:
    """End, and say why beside the protocol."""
    print("wicked on purpose", file=sys.stderr, flush=True)
    os._exit(3)


def die_after(message: dict[str, Any], wire: Wire) -> None:
    """Answer, and end."""
    answer(message, wire)
    os._exit(3)


def half(message: dict[str, Any], wire: Wire) -> None:
    """End in the middle of an answer."""
    wire.raw(b'data: {"jsonrpc": "2.0", "id": 1, "res')
    os._exit(3)


def garbage(message: dict[str, Any], wire: Wire) -> None:
    """Say what is not a message, and nothing else."""
    wire.raw(b"\xff\xfe\x00{{{ no JSON\ndata: [1, 2]\n\n{}\nnull\n\ndata: {{\n\n" * 200)


def wrong(message: dict[str, Any], wire: Wire) -> None:
    """Answer something else than was asked, to nobody and to who has asked."""
    wire.send(id=10_000, result={})
    wire.send(id=message.get("id", 1), result={"tools": 5, "content": {"type": "odd"}, "protocolVersion": []})


def hang(message: dict[str, Any], wire: Wire) -> None:
    """Say nothing any more."""
    time.sleep(600)


def flood(message: dict[str, Any], wire: Wire) -> None:
    """Talk, and answer after that."""
    for number in range(20_000):
        wire.send(method="notifications/message", params={"level": "info", "data": f"line {number}"})
    answer(message, wire)


def huge(message: dict[str, Any], wire: Wire) -> None:
    """Answer 100 MB."""
    wire.send(id=message.get("id", 1), result={"content": [{"type": "text", "text": "x" * (100 << 20)}], "tools": []})


def refuse(message: dict[str, Any], wire: Wire) -> None:
    """Answer an error."""
    wire.send(id=message.get("id", 1), error={"code": -32603, "message": "I would rather not \x00\ud800"})


def change(message: dict[str, Any], wire: Wire) -> None:
    """Have other tools in the middle of it, and answer."""
    TOOLS[:] = [tool("another")]
    wire.send(method="notifications/tools/list_changed")
    answer(message, wire)


def http(status: int, **headers: str) -> Callable[[dict[str, Any], Wire], None]:
    """Answer with an error of HTTP."""
    return lambda message, wire: wire.refuse(status, **headers)


WAYS: dict[str, Callable[[dict[str, Any], Wire], None]] = {
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
WEB_WAYS = {
    **WAYS,
    "token": http(401, **{"www-authenticate": 'Bearer error="invalid_token"'}),
    "forbidden": http(403),
    "forgotten": http(404),
    "too_often": http(429, **{"retry-after": "1"}),
    "broken": http(500),
    "elsewhere": http(307, location="http://10.0.0.1/mcp"),
}


def do(asked: dict[str, Any], wire: Wire) -> None:
    """Answer a request, or do what is told in its place."""
    (WEB_WAYS[HOW] if asked.get("method") == WHEN else answer)(asked, wire)


if __name__ == "__main__":
    HOW, WHEN = os.environ["HOW"], os.environ["WHEN"]
    if port := os.environ.get("PORT"):
        ThreadingHTTPServer(("127.0.0.1", int(port)), Web).serve_forever()
    for line in sys.stdin:
        do(json.loads(line), Streams())
