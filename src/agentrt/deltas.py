"""`Delta`: a piece of something that is still growing; and the text so far that such pieces are cut from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from .specs.content import sound

Channel: TypeAlias = Literal["text", "reasoning", "output"]

KEPT = 64 * 1024
"""Characters that are kept of the end of what grows."""

PIECE = 64
"""Characters that a piece counts for on top of its own, until it is joined with the others: about what it takes."""


class Delta(msgspec.Struct, frozen=True, tag_field="type", tag=True):
    """A piece of something that is still growing: never stored, and void once its event is there.

    `becomes` is the id of the event that will hold the whole. The piece begins at the character `start` of what
    `becomes` says on this `channel`: one that has the first n characters has skipped some when `start` is greater than
    n, and begins anew when it is less. `after` is the seq of the last event that was published when it was shown.
    """

    becomes: str
    channel: Channel
    text: str
    start: int
    after: int


class Draft:
    """What something that grows says on one channel so far, of which the last `KEPT` characters are kept.

    Pieces wait until somebody reads, or until they take much memory. Then they are joined, and `hide` takes the secrets
    out of them: what it holds back of the end comes with the next ones.
    """

    __slots__ = ("_end", "_hide", "_joined", "_pieces", "_weight", "after", "becomes", "channel", "command")

    def __init__(
        self,
        becomes: str,
        channel: Channel,
        command: str,
        *,
        start: int = 0,
        hide: Callable[[str], str] | None = None,
    ) -> None:
        self.becomes = becomes
        self.channel: Channel = channel
        self.command = command
        """What makes it grow."""
        self.after = 0
        """The seq after which the last of it came."""
        self._end, self._hide = start, hide
        self._joined, self._pieces, self._weight = "", list[str](), 0

    @property
    def end(self) -> int:
        """How many characters it has."""
        self._join()
        return self._end

    def add(self, piece: str, after: int) -> None:
        """Let it grow, after event `after`."""
        self._pieces.append(piece)
        self.after = after
        self._weight += len(piece) + PIECE
        if self._weight > KEPT:
            self._join()

    def since(self, place: int) -> Delta:
        """What came since the character `place`, or as much of its end as is kept."""
        self._join()
        start = max(place, self._end - len(self._joined))
        text = self._joined[len(self._joined) - (self._end - start) :]
        return Delta(self.becomes, self.channel, text, start, self.after)

    def _join(self) -> None:
        if self._pieces:
            fresh = "".join(self._pieces)
            self._pieces.clear()
            self._weight = 0
            if "\ud800" <= fresh[-1:] < "\udc00":  # half a character, which its other half may follow
                fresh, self._pieces = fresh[:-1], [fresh[-1]]
            fresh = sound(fresh)  # as what it becomes will be; half a character cannot be sent
            if self._hide is not None:
                fresh = self._hide(fresh)
            self._end += len(fresh)
            self._joined = (self._joined + fresh)[-KEPT:]


class Reader:
    """A subscriber's place in each thing that grows now: in `places`, by whoever knows what begins and ends."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: dict[Draft, int] = {}

    def read(self) -> Delta | None:
        """The next piece that it has not read, from what it read least recently; None when it has read everything."""
        for draft, place in self.places.items():
            if place < (end := draft.end):
                del self.places[draft]
                self.places[draft] = end
                return draft.since(place)
        return None
