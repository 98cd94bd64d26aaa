"""A server that does as it is told, over real sockets: for what a good one never does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
import msgspec
from aiohttp import WSMsgType, web

from agentrt import LLM, Agent, Delta
from agentrt.codec import encode
from agentrt.events import ConversationCreated, Cursor, Event
from agentrt.frames import DeltaFrame, EventFrame, Frame, FromServer, Live, Problem, ToServer
from agentrt.specs import LocalWorkspace, RemoteWorkspace
from tests import samples

NAME = "one"
AGENT = Agent(llm=LLM(model="scripted"), tools=())


def history(*events: Event) -> list[Event]:
    """The beginning of a conversation, and these events after it."""
    created = ConversationCreated(conversation_id=NAME, agent=AGENT, workspace=LocalWorkspace("/w"))
    return list(samples.numbered([created, *samples.beginning()[1:], *events]))


def framed(events: Sequence[Event]) -> list[FromServer]:
    """Events as they are sent."""
    return [EventFrame(conversation=NAME, event=msgspec.Raw(encode(event))) for event in events]


def live(seq: int, epoch: int = 0) -> Live:
    """All that there is was sent."""
    return Live(conversation=NAME, cursor=Cursor(epoch, seq))


def grown(delta: Delta) -> DeltaFrame:
    """A delta as it is sent."""
    return DeltaFrame(conversation=NAME, delta=msgspec.Raw(msgspec.json.encode(delta)))


class Peer:
    """Holds a history, answers requests with what `answers` returns, and gives each socket to `serve`."""

    def __init__(self) -> None:
        self.events: list[Event] = history()
        self.asked: list[tuple[str, str, bytes]] = []
        self.follows: list[tuple[int, int]] = []
        """The cursors with which it was followed: seq and epoch."""
        self.answers: Callable[[str, str, bytes], web.Response | None] = lambda method, path, body: None
        self.sockets: list[Callable[[Talk], object]] = []
        """What is done with the next sockets; then each gets everything, and what comes."""
        self.keys: list[str] = []
        self.url = ""
        self._news = anyio.Event()

    def append(self, *events: Event) -> None:
        """More happens."""
        self.events += samples.numbered(events, len(self.events) + 1)
        self._news.set()
        self._news = anyio.Event()

    def place(self, **fields: float) -> RemoteWorkspace:
        """Where it is, for a client that does not wait long."""
        return RemoteWorkspace(self.url, **{"timeout": 2.0, "give_up": 5.0, **fields})  # type: ignore[arg-type]

    async def request(self, request: web.Request) -> web.StreamResponse:
        """Serve a request."""
        self.keys.append(request.headers.get("Authorization", ""))
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._socket(request)
        body = await request.read()
        self.asked.append((request.method, request.path, body))
        try:
            given = self.answers(request.method, request.path, body)
        except ConnectionAbortedError:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if given is not None:
            return given
        cursor = Cursor(0, len(self.events))
        if request.path.endswith("/events"):
            after, limit = int(request.query["after"]), int(request.query["limit"])
            items = [msgspec.Raw(encode(event)) for event in self.events[after : after + limit]]
            return _json({"items": items, "next": None, "cursor": cursor})
        if "/events/" in request.path:
            return web.Response(body=encode(self.events[int(request.path.rpartition("/")[2]) - 1]))
        if request.method == "GET":
            return _json({"id": NAME, "cursor": cursor, "status": "idle"})
        return _json({"id": NAME, "cursor": cursor} if request.path == "/conversations" else cursor)

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        self.follows.append((int(request.query["after"]), int(request.query["epoch"])))
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        serve = self.sockets.pop(0) if self.sockets else self.follow
        done = serve(Talk(socket, request, int(request.query["after"])))
        await done  # type: ignore[misc]
        return socket

    async def follow(self, talk: Talk) -> None:
        """As a good server does."""
        after = talk.after
        while not talk.socket.closed:
            news = self._news
            await talk.send(*framed(self.events[after:]), live(len(self.events)))
            after = len(self.events)
            await news.wait()


class Talk:
    """One socket of a `Peer`."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request, after: int) -> None:
        self.socket, self.after = socket, after
        self._request = request

    def cut(self) -> None:
        """Break the connection, without a word."""
        assert self._request.transport is not None
        self._request.transport.close()

    async def send(self, *frames: Frame) -> None:
        """A message."""
        await self.socket.send_bytes(msgspec.json.encode(frames))

    async def close(self, code: int, reason: str = "") -> None:
        """End it, with a code."""
        await self.socket.close(code=code, message=reason.encode())

    async def receive(self) -> list[ToServer]:
        """What the client says."""
        message = await self.socket.receive()
        assert message.type in (WSMsgType.TEXT, WSMsgType.BINARY)
        return msgspec.json.decode(message.data, type=list[ToServer])


def problem(status: int, code: str, detail: str = "") -> web.Response:
    """An answer that says what went wrong."""
    body = msgspec.json.encode(Problem(title="No", status=status, detail=detail, code=code))
    return web.Response(status=status, body=body, content_type="application/problem+json")


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


@asynccontextmanager
async def peer() -> AsyncIterator[Peer]:
    """A peer that answers at its `url`."""
    there = Peer()
    runner = web.ServerRunner(web.Server(there.request), shutdown_timeout=0.1)  # type: ignore[arg-type]
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        there.url = f"http://{host}:{port}"
        yield there
    finally:
        await runner.cleanup()
