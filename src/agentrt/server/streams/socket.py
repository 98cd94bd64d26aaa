"""`Socket`: a WebSocket over which conversations are followed and controlled."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from functools import partial

import anyio
import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from ...controls import AskAgent, GenerateTitle
from ...errors import AgentrtError
from ...events import Cursor
from ...frames import Ack, Alive, Do, Ended, Follow, Heartbeat, Refused, ToServer, Unfollow
from ..principals import Principal
from ..problems import Refusal, problem_of, refusal
from ..services import Services
from .codes import GARBAGE, NO_PROGRESS, Closing, closing, cut
from .encoding import frame, message
from .follower import Follower
from .inbox import Inbox
from .lanes import Lanes
from .receiving import frames_of
from .wire import wire_of

MESSAGE = 64 * 1024
"""Bytes at which a message gets no more frames; a longer frame is sent whole."""

WORK = 16
"""Maximum number of a client's frames in work, and of answers to be sent. Further frames wait until there is room."""

FOLLOWED = 1024
"""Maximum number of conversations that one socket may follow."""

GIBBERISH = 10
"""Number of invalid frames in a row after which a socket is closed."""

WAITED = 0.1
"""A send that takes more seconds than this had to wait until the client read something."""

GOODBYE = 0.1
"""Seconds for sending the close frame: enough if the client reads."""

REST = 1.0
"""Seconds that a client's unfinished work may take after the client left."""

_encoder = msgspec.json.Encoder()
_HEARTBEAT = _encoder.encode(Heartbeat())
_BESIDE = (AskAgent, GenerateTitle)
"""Controls that take as long as a model call and affect no others, so each gets a lane of its own."""


class Socket:
    """A WebSocket over which conversations are followed and controlled.

    A message is taken from the followers only once the previous one was sent, so a slow client takes no memory but its
    positions. `alone` is the conversation that the socket is for: the socket ends when it can no longer be followed.
    Without `alone`, the socket stays open whether or not it follows any.
    """

    def __init__(
        self, websocket: WebSocket, services: Services, principal: Principal, alone: str | None = None
    ) -> None:
        self._websocket, self._services, self._streams = websocket, services, services.streams
        self._principal, self._alone = principal, alone
        self._inbox, self._bell = Inbox(), self._streams.bell(self._send_at_once)
        self._wire = wire_of(websocket.scope)
        self._followers: dict[str, Follower] = {}
        self._names: dict[Follower, str] = {}
        """The ids of conversations, by follower."""
        self._news: dict[Follower, None] = {}
        """The followers that may have something to send, in turn."""
        self._answers: deque[bytes] = deque()
        self._room = anyio.Semaphore(WORK)
        """Bounds the answers that wait to be sent."""
        self._gibberish = 0
        self._heard = self._said = time.monotonic()
        self._sending: float | None = None
        """When the message that is being sent was begun; None: there is none."""
        self._asked: float | None = None
        """When the unanswered heartbeat was sent; None: there is none."""
        self._beat = False
        self._scope = anyio.CancelScope()
        self._closing: Closing | None = None
        self._last: Closing | None = None
        """How to close the socket once the waiting answers were sent."""

    async def serve(self, after: Cursor = Cursor(), *, deltas: bool = True) -> None:
        """Serve the socket until either end closes it; follow its own conversation, if it has one, from a cursor on."""
        try:
            async with anyio.create_task_group() as tasks:
                lanes = Lanes(tasks, WORK)
                with self._scope:
                    if self._alone is not None:
                        await self._follow(self._alone, after, deltas=deltas)
                    async with anyio.create_task_group() as talking:
                        talking.start_soon(self._write)
                        talking.start_soon(self._work, lanes)
                        await self._read()
                        self._scope.cancel()
                await self._say_goodbye()
                tasks.cancel_scope.deadline = anyio.current_time() + REST
        finally:
            for follower in self._followers.values():
                self._streams.leave(follower)

    def close(self, closing: Closing) -> None:
        """Make the socket end; the first reason counts."""
        if self._closing is None:
            self._closing = closing
            self._scope.cancel()

    def look(self, now: float) -> None:
        """Close the socket if it makes no progress; send a heartbeat if nothing was sent or received for some time."""
        patience, heartbeat = self._streams.settings.patience, self._streams.settings.heartbeat
        if self._sending is not None and now - self._sending > patience:
            self.close(Closing(NO_PROGRESS, f"no progress: a message was not taken for {patience:g} s"))
        elif self._asked is not None and now - self._asked > patience:
            self.close(Closing(NO_PROGRESS, f"no progress: a heartbeat was not answered for {patience:g} s"))
        elif now - self._said > heartbeat or (self._asked is None and now - self._heard > heartbeat):
            self._beat = True
            self._bell.ring()

    async def _read(self) -> None:
        while (received := await self._websocket.receive())["type"] != "websocket.disconnect":
            self._heard, self._asked = time.monotonic(), None
            await self._inbox.put(received.get("text") or received.get("bytes") or b"")
        with anyio.move_on_after(REST):
            await self._inbox.worked_on()

    async def _work(self, lanes: Lanes) -> None:
        while True:
            for found in frames_of(await self._inbox.get()):
                if not isinstance(found, Refused):
                    self._gibberish = 0
                    await self._take_up(found, lanes)
                elif (more := self._gibberish + 1) < GIBBERISH:
                    self._gibberish = more
                    await self._answer(found)
                else:
                    return self.close(Closing(GARBAGE, f"garbage: {found.problem.detail}"))

    async def _take_up(self, frame: ToServer, lanes: Lanes) -> None:
        match frame:
            case Alive():
                pass
            case Follow(conversation=name, after=after, deltas=deltas):
                await lanes.put(name, partial(self._follow, name, after, deltas=deltas))
            case Unfollow(conversation=name):
                await lanes.put(name, partial(self._leave, name))
            case Do(conversation=name):
                lane = f"{name} {frame.id}" if isinstance(frame.control, _BESIDE) else name
                await lanes.put(lane, partial(self._do, frame))

    async def _follow(self, name: str, after: Cursor, *, deltas: bool) -> None:
        self._unfollow(name)
        try:
            if len(self._followers) >= FOLLOWED:
                raise refusal(429, "Too many conversations", f"a socket follows at most {FOLLOWED}", "followed")
            follower = await self._streams.follow(name, self._principal, after, self._tell, deltas=deltas)
        except (AgentrtError, Refusal) as error:
            problem = problem_of(error)
            await self._answer(Ended(conversation=name, problem=problem))
            if name == self._alone:
                self._last = closing(problem)
            return
        self._followers[name], self._names[follower] = follower, name

    def _unfollow(self, name: str) -> None:
        if follower := self._followers.pop(name, None):
            self._streams.leave(follower)
            self._news.pop(follower, None)
            del self._names[follower]

    async def _leave(self, name: str) -> None:
        self._unfollow(name)

    async def _do(self, wanted: Do) -> None:
        try:
            reply = await self._services.hosting.do(wanted.conversation, wanted.control, self._principal)
        except (AgentrtError, Refusal, msgspec.ValidationError) as error:
            await self._answer(Refused(id=wanted.id, problem=problem_of(error)))
        else:
            await self._answer(Ack(id=wanted.id, reply=msgspec.Raw(_encoder.encode(reply))))

    async def _answer(self, answer: Ack | Refused | Ended) -> None:
        await self._room.acquire()
        self._answers.append(_encoder.encode(answer))
        self._bell.ring()

    def _tell(self, follower: Follower) -> None:
        self._news[follower] = None
        self._bell.ring()

    async def _write(self) -> None:
        try:
            while self._last is None or self._answers:
                await self._bell.wait()
                while self._beat or self._answers or self._news:
                    if frames := await self._next():
                        await self._send(frames)
            self.close(self._last)
        except WebSocketDisconnect:
            self._scope.cancel()

    async def _send(self, frames: list[bytes]) -> None:
        begun = self._sending = time.monotonic()
        await self._websocket.send({"type": "websocket.send", "text": message(frames)})
        self._sending, self._said = None, time.monotonic()
        if self._said - begun > WAITED:
            self._asked = None  # the client reads; its answer to a heartbeat may wait behind other messages

    async def _next(self) -> list[bytes]:
        """Return the frames of the next message: answers, then the pieces of the followers, in turn."""
        frames, size = list[bytes](), 0
        if self._beat:
            self._beat, self._asked = False, self._asked or time.monotonic()
            frames.append(_HEARTBEAT)
        while self._answers and size < MESSAGE:
            frames.append(self._answers.popleft())
            self._room.release()
            size += len(frames[-1])
        while self._news and size < MESSAGE:
            follower = next(iter(self._news))
            del self._news[follower]
            pieces = await follower.take(MESSAGE - size)
            if follower not in self._names:
                continue  # it left meanwhile
            for piece in pieces:
                frames.append(frame(piece, follower.relay.name))
                size += len(frames[-1])
            self._taken(follower)
        return frames

    def _send_at_once(self) -> bool:
        """Send a follower's pieces if that needs no waiting; return whether nothing else is left to send."""
        wire, news = self._wire, self._news
        if wire is None or not news or self._beat or self._answers or not wire.free:
            return False
        follower = next(iter(news))
        if follower not in self._names or (pieces := follower.take_recent(MESSAGE)) is None:
            return False
        del news[follower]
        if pieces:
            wire.write(follower.relay.message(pieces))
            self._said = time.monotonic()
        self._taken(follower)
        return not news and self._last is None

    def _taken(self, follower: Follower) -> None:
        """Queue a follower again, or remove it, after something was taken from it."""
        if follower.problem is not None:
            name = self._names[follower]
            self._unfollow(name)
            if name == self._alone:
                self._last = closing(follower.problem)
        elif follower.more:
            self._news[follower] = None

    async def _say_goodbye(self) -> None:
        if self._closing is None:
            return  # the client left
        code, reason = self._closing
        with anyio.move_on_after(GOODBYE), contextlib.suppress(WebSocketDisconnect):
            await self._websocket.close(code, cut(reason))
        self._streams.discard(self._websocket)
