"""`Follower`: a position in a conversation that a client follows."""

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
"""Maximum number of events that are read from the file at once, by a follower that is behind."""

FIRST_PAGE = 32


class Follower(Reader):
    """A client's position in a conversation's events and drafts, without a queue.

    `news` is called when there is something to `take`.
    """

    __slots__ = ("_page", "_told", "deltas", "more", "news", "problem", "relay", "seq")

    def __init__(self, relay: Relay, seq: int, news: Callable[[Follower], None], *, deltas: bool) -> None:
        super().__init__()
        self.relay, self.seq, self.news, self.deltas = relay, seq, news, deltas
        self.problem: Problem | None = None
        """Why nothing more follows; set when the "ended" piece is taken."""
        self.more = True
        """Whether the last `take` may have left something."""
        self._told: int | None = None
        """The epoch of its last "live" piece; None: it was not live since."""
        self._page = FIRST_PAGE

    async def take(self, limit: int) -> list[Piece]:
        """Return pieces that it does not have yet, up to `limit` bytes, or a single longer one; none if it has all.

        If nothing more will follow, the last piece is "ended".
        """
        found = self.take_recent(limit)
        return found if found is not None else await self._read(limit)

    def take_recent(self, limit: int) -> list[Piece] | None:
        """Do the same as `take`, from memory only; return None if the next event is not in memory."""
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
        """Return the next events from the file, up to `limit` bytes but at least one."""
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
