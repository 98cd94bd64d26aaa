"""Clients of a server's streams: a WebSocket that speaks frames, and a model that goes on when it is told to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import msgspec

from agentrt.context.replies import ModelReply
from agentrt.controls import AnyControl
from agentrt.events import Cursor
from agentrt.frames import DeltaFrame, Do, EventFrame, Frame, FromServer, Live
from agentrt.protocols import ModelRequest, Watch
from agentrt.server import ServerSettings
from agentrt.testing import ScriptedLLM, say
from tests.server.served import Client, agent

SECONDS = 20.0
"""In which whatever is waited for has come."""

_decoder: msgspec.json.Decoder[list[FromServer]] = msgspec.json.Decoder(list[FromServer])


class Following:
    """A WebSocket that follows; `frames` are those that came, `events` the events in them, each by its conversation."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.frames: list[FromServer] = []
        self.events: dict[str, list[bytes]] = {}
        self.messages = 0
        self.code, self.reason = 1006, ""

    async def tell(self, *frames: Frame) -> None:
        """Send a message."""
        await self.socket.send_str(msgspec.json.encode(frames).decode())

    async def do(self, conversation: str, control: AnyControl, id: str = "1") -> None:
        """Ask for a control."""
        await self.tell(Do(id=id, conversation=conversation, control=control))

    async def until(self, holds: Callable[[FromServer], object]) -> FromServer:
        """The next frame for which `holds`. Fails when the socket is closed, or none comes."""
        with anyio.fail_after(SECONDS):
            while True:
                for place, frame in enumerate(self.frames):
                    if holds(frame):
                        del self.frames[: place + 1]
                        return frame
                self.frames.clear()
                assert await self.more(), f"the socket was closed: {self.socket.close_code}"

    async def until_of(self, kind: type[Frame]) -> Any:
        """The next frame of a kind."""
        return await self.until(lambda frame: isinstance(frame, kind))

    async def until_event(self, kind: str) -> dict[str, Any]:
        """The next event of a type."""

        def is_it(frame: FromServer) -> bool:
            return isinstance(frame, EventFrame) and bytes(frame.event).startswith(b'{"type":"%b"' % kind.encode())

        found: Any = await self.until(is_it)
        event: dict[str, Any] = msgspec.json.decode(found.event)
        return event

    async def more(self) -> bool:
        """Take the next message; False when the socket was closed."""
        message = await self.socket.receive()
        if message.type is aiohttp.WSMsgType.CLOSE:
            self.code, self.reason = int(message.data), str(message.extra)
        if message.type is not aiohttp.WSMsgType.TEXT:
            return False
        self.messages += 1
        for frame in _decoder.decode(message.data):
            self.frames.append(frame)
            if isinstance(frame, EventFrame):
                self.events.setdefault(frame.conversation, []).append(bytes(frame.event))
        return True

    async def closed(self) -> tuple[int, str]:
        """The code and the reason with which the server closes it."""
        with anyio.fail_after(SECONDS):
            while await self.more():
                pass
        return self.code, self.reason


@asynccontextmanager
async def following(client: Client, path: str, **options: Any) -> AsyncIterator[Following]:
    """A WebSocket of a server."""
    async with client.session.ws_connect(client.url + path, max_msg_size=0, **options) as socket:
        yield Following(socket)


async def begun(client: Client, message: str | None = None) -> str:
    """A new conversation."""
    body = {"agent": agent()} | ({"message": message} if message is not None else {})
    status, made = await client.ask("POST", "/conversations", body)
    assert status == 201, made
    return str(made["id"])


def settings(directory: Path, **fields: Any) -> ServerSettings:
    """Those of a test's server."""
    return ServerSettings(port=0, workspaces=(directory / "workspaces",), **fields)


def log_of(directory: Path, conversation: str) -> list[bytes]:
    """The events of a conversation's log, as they are on the wire: of each line what is the event, in braces."""
    lines = (directory / "store" / "conversations" / conversation / "events.jsonl").read_bytes().splitlines()
    whole = [line for line in lines if line.endswith(b'"}')]
    return [b"{%b}" % line[line.index(b'"type":') : line.rindex(b',"crc":"')] for line in whole]


def cursor_after(seq: int) -> Cursor:
    """A cursor of a new log."""
    return Cursor(0, seq)


class Talking(ScriptedLLM):
    """A model that says some pieces, and ends its answer when it is told to."""

    def __init__(self, *pieces: str) -> None:
        super().__init__([])
        self.pieces, self.go_on = pieces, anyio.Event()

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The pieces, a wait, and the answer."""
        for piece in self.pieces:
            watch.show("text", piece)
            await anyio.lowlevel.checkpoint()
        await self.go_on.wait()
        return say("".join(self.pieces))


def is_live(frame: FromServer) -> bool:
    """Whether it says that all was sent."""
    return isinstance(frame, Live)


def is_delta(frame: FromServer) -> bool:
    """Whether it is of something that grows."""
    return isinstance(frame, DeltaFrame)
