"""`Relay`: reads one conversation for all its followers, and passes on the events as they are in the log."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable

import anyio
import msgspec

from ...codec import Line
from ...conversation import Conversation
from ...deltas import Channel, Delta, Draft
from ...errors import AgentrtError
from ...events import Cursor
from ...frames import Problem
from ..problems import problem_of
from .encoding import Piece, frame, message
from .follower import Follower
from .wire import framed

RECENT = 256 * 1024
"""Bytes of events that are kept in memory while a conversation is followed; the file has the rest."""

DRAFTS = 64
"""Maximum number of drafts of a conversation; beyond it, the oldest are dropped, and new followers miss their text."""

CLOSED = Problem(
    title="The conversation was closed",
    status=503,
    detail="it left this server's memory: follow it again from your cursor",
    code="conversation-closed",
)

_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


class Relay:
    """Reads one conversation for all its followers.

    It keeps the last events, as JSON, and drafts of unfinished events. Each follower has a position in both; a follower
    that is further behind reads the file.
    """

    def __init__(self, conversation: Conversation, recent: int = RECENT) -> None:
        self.conversation = conversation
        self.name = _encoder.encode(conversation.id)
        """The conversation's id, as JSON."""
        self.seq, self.epoch = conversation.state.seq, conversation.state.epoch
        """The seq and the epoch of the last event that was read."""
        self.scope = anyio.CancelScope()
        """The cancel scope of the task that reads."""
        self.problem: Problem | None = None
        """Why nothing more follows."""
        self.followers: dict[Follower, None] = {}
        self._events: deque[Piece] = deque()
        self._size, self._most = 0, recent
        self._drafts: dict[tuple[str, Channel], Draft] = {}
        self._cut: dict[tuple[str, Channel], tuple[Delta, Piece]] = {}
        """The last delta that was cut from each draft."""
        self._message: tuple[list[Piece], bytes] = [], b""
        """The last pieces that were sent, and their message on the wire."""

    def join(self, seq: int, news: Callable[[Follower], None], *, deltas: bool) -> Follower:
        """Add and return a follower that has the events up to `seq`."""
        follower = Follower(self, seq, news, deltas=deltas)
        if deltas:
            follower.places = dict.fromkeys(self._drafts.values(), 0)
        self.followers[follower] = None
        news(follower)
        return follower

    def leave(self, follower: Follower) -> None:
        """Remove a follower."""
        self.followers.pop(follower, None)
        follower.places.clear()

    async def run(self, reopen: Callable[[str], Awaitable[Conversation]]) -> None:
        """Read until the conversation ends; `reopen` returns it again if it was only closed for a while."""
        problem = CLOSED
        try:
            with self.scope:
                while True:
                    await self._read(self.conversation)
                    again = await reopen(self.conversation.id)
                    if again is self.conversation:
                        break
                    self.conversation = again
        except Exception as error:  # ends this conversation for its followers, and no other
            problem = problem_of(error)
            if not isinstance(error, AgentrtError):
                _log.exception("following conversation %s failed", self.conversation.id)
        self.end(problem)

    async def _read(self, conversation: Conversation) -> None:
        async for item in conversation.lines(Cursor(self.epoch, self.seq)):
            if isinstance(item, Delta):
                self._grow(item)
            else:
                self._publish(item)

    def end(self, problem: Problem) -> None:
        """End the relay: nothing more follows. The first problem counts."""
        if self.problem is None:
            self.problem = problem
            self._tell()

    def recent(self, after: int, limit: int) -> list[Piece] | None:
        """Return the events after seq `after`, up to `limit` bytes but at least one; None if they are not kept."""
        events = self._events
        if not events or events[0].seq > after + 1:
            return None
        pieces, size = list[Piece](), 0
        for place in range(after - self.seq, 0):  # from the end, where followers that are up to date are
            piece = events[place]
            if pieces and size + piece.size > limit:
                break
            pieces.append(piece)
            size += piece.size
        return pieces

    async def page(self, after: int, limit: int) -> list[Piece]:
        """Return at most `limit` events after seq `after`, from the file. Raises the errors of reading it."""
        found = await self.conversation.page_json(Cursor(self.conversation.state.epoch, after), limit)
        return [Piece("event", data, seq) for seq, data in enumerate(found, after + 1)]

    def encoded(self, delta: Delta) -> Piece:
        """Return the piece of a delta, shared by all followers at the same position."""
        key = (delta.becomes, delta.channel)
        found = self._cut.get(key)
        if found is None or found[0] != delta:
            found = self._cut[key] = delta, Piece("delta", _encoder.encode(delta))
        return found[1]

    def message(self, pieces: list[Piece]) -> bytes:
        """Return pieces as one message on the wire, shared by all followers at the same position."""
        if self._message[0] != pieces:
            self._message = pieces, framed(message(frame(piece, self.name) for piece in pieces))
        return self._message[1]

    def _publish(self, event: Line) -> None:
        piece = Piece("event", event.data, event.seq)
        self._events.append(piece)
        self._size += piece.size
        while self._size > self._most and len(self._events) > 1:
            self._size -= self._events.popleft().size
        state = self.conversation.state
        self.seq, self.epoch = event.seq, state.epoch
        if self._drafts:
            over = [key for key in self._drafts if key[0] == event.id or not state.in_flight]
            for key in over:
                self._forget(key)
        if event.seq >= state.seq:  # it has caught up: tell once for a whole batch
            self._tell()

    def _grow(self, delta: Delta) -> None:
        key = (delta.becomes, delta.channel)
        draft = self._drafts.get(key)
        if draft is None or draft.end != delta.start:
            draft = self._begin(key, delta.start)
        draft.add(delta.text, delta.after)
        self._tell(growth=True)

    def _begin(self, key: tuple[str, Channel], start: int) -> Draft:
        if key in self._drafts:
            self._forget(key)
        elif len(self._drafts) >= DRAFTS:
            self._forget(next(iter(self._drafts)))
        draft = self._drafts[key] = Draft(*key, command="", start=start)
        for follower in self.followers:
            if follower.deltas:
                follower.places[draft] = start
        return draft

    def _forget(self, key: tuple[str, Channel]) -> None:
        draft = self._drafts.pop(key)
        self._cut.pop(key, None)
        for follower in self.followers:
            follower.places.pop(draft, None)

    def _tell(self, *, growth: bool = False) -> None:
        """Tell the followers that there is news; of the growth of a draft, only those that want deltas."""
        for follower in list(self.followers):  # one may leave when it is told
            if follower.deltas or not growth:
                follower.news(follower)
