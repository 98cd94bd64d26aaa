"""`Mirror`: a client that has the events of a conversation, whatever happens to its connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aiohttp
import anyio
import msgspec
from anyio.lowlevel import checkpoint

from agentrt.codec import decode_envelope
from agentrt.deltas import Delta
from agentrt.events import Cursor
from agentrt.frames import Alive, DeltaFrame, EventFrame, FromServer, Heartbeat, Live

_frames: msgspec.json.Decoder[list[FromServer]] = msgspec.json.Decoder(list[FromServer])
_ALIVE = msgspec.json.encode([Alive()]).decode()


class Mirror:
    """A client that has the events of a conversation: it comes again by its cursor, and starts over when told to.

    It fails when an event comes twice, or one is missing, or a delta comes after the event that it became.
    """

    def __init__(self, session: aiohttp.ClientSession, conversation: str) -> None:
        self._session, self.conversation = session, conversation
        self.events: list[bytes] = []
        self._ids: set[str] = set()
        self.epoch: int | None = None
        self.connections, self.codes = 0, list[int | None]()
        self.live = anyio.Event()

    @property
    def path(self) -> str:
        """Where it goes on."""
        epoch = "" if self.epoch is None else f"&epoch={self.epoch}"
        return f"/conversations/{self.conversation}/events?after={len(self.events)}{epoch}"

    async def follow(self, url: str, up: Callable[[], Awaitable[object]] = checkpoint) -> None:
        """Follow for ever, over as many connections as it takes; each is made when the server is `up`."""
        while True:
            await up()
            try:
                async with self._session.ws_connect(url + self.path, max_msg_size=0) as socket:
                    self.connections += 1
                    async for message in socket:
                        await self.take(socket, message.data)
                    self.codes.append(socket.close_code)
                    if socket.close_code == 4010:
                        self.start_over()
            except (aiohttp.ClientError, OSError):
                self.codes.append(None)

    async def take(self, socket: aiohttp.ClientWebSocketResponse, message: str) -> None:
        """What one message says."""
        for frame in _frames.decode(message):
            match frame:
                case EventFrame(event=event):
                    envelope = decode_envelope(event)
                    assert envelope.seq == len(self.events) + 1
                    self.events.append(bytes(event))
                    self._ids.add(envelope.id)
                case DeltaFrame(delta=raw):
                    assert msgspec.json.decode(raw, type=Delta).becomes not in self._ids
                case Live(cursor=Cursor(epoch=epoch, seq=seq)):
                    assert seq == len(self.events)
                    self.epoch = epoch
                    self.live.set()
                case Heartbeat():
                    await socket.send_str(_ALIVE)

    def start_over(self) -> None:
        """Forget what it has: the log is another one."""
        self.events.clear()
        self._ids.clear()
        self.epoch = None
