"""`Follower`: one who follows a conversation, as a place in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...deltas import Reader
from ...errors import AgentrtError
from ...events import Cursor
from ...frames import Problem
from ..problems import problem_of
from .encoding import Piece, ended, live

if TYPE_CHECKING:
    from .relay import Relay

PAGE = 256
"""The most events that are read from the file at once, by one who is behind."""

FIRST_PAGE = 32


class Follower(Reader):
    """One who follows a conversation: a place in its events and in what grows. It has no queue.

    `news` is called when there is something to `take`.
    """

    __slots__ = ("_page", "_told", "deltas", "more", "news", "problem", "relay", "seq")

    def __init__(self, relay: Relay, seq: int, news: Callable[[Follower], None], *, deltas: bool) -> None:
        super().__init__()
        self.relay, self.seq, self.news, self.deltas = relay, seq, news, deltas
        self.problem: Problem | None = None
        """Why nothing more comes, once that was taken."""
        self.more = True
        """Whether there was more than was taken last."""
        self._told: int | None = None
        """The epoch in which it was told that it is live."""
        self._page = FIRST_PAGE

    async def take(self, limit: int) -> list[Piece]:
        """What it has not got yet, up to `limit` bytes but for a piece that is longer alone; nothing when it has all.

        The last one is "ended" when nothing more will come.
        """
        found = self.take_recent(limit)
        return found if found is not None else await self._read(limit)

    def take_recent(self, limit: int) -> list[Piece] | None:
        """As `take`, of what is in memory; None when the next is not."""
        relay, pieces, self.more = self.relay, list[Piece](), True
        if self.seq < relay.seq:
            found = relay.recent(self.seq, limit)
            if found is None:
                return None
            pieces, self.seq = found, found[-1].seq
        size = sum(piece.size for piece in pieces)
        if self.seq < relay.seq or size >= limit:
            return pieces
        if self._told != relay.epoch:
            self._told = relay.epoch
            pieces.append(live(Cursor(relay.epoch, self.seq)))
        if relay.problem is not None:
            self.problem = relay.problem
            return [*pieces, ended(self.problem)]
        while size < limit:
            if (delta := self.read()) is None:
                self.more = False
                break
            pieces.append(relay.encoded(delta))
            size += pieces[-1].size
        return pieces

    async def _read(self, limit: int) -> list[Piece]:
        """From the file, as many as will do."""
        self._told, pieces, size = None, list[Piece](), 0
        try:
            page = await self.relay.page(self.seq, min(self._page, self.relay.seq - self.seq))
        except AgentrtError as error:
            self.problem = self.relay.problem or problem_of(error)
            return [ended(self.problem)]
        for piece in page:
            if pieces and size + piece.size > limit:
                break
            pieces.append(piece)
            size += piece.size
        self._page = max(1, min(PAGE, limit * len(pieces) // max(size, 1)))
        self.seq = pieces[-1].seq
        return pieces
