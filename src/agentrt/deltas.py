"""`Delta`: a piece of something that is still growing; and the text so far that such pieces are cut from."""

from __future__ import annotations

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
    """What something that grows says on one channel so far, of which the last `KEPT` characters are kept."""

    __slots__ = ("_joined", "_pieces", "_weight", "after", "becomes", "channel", "command", "end")

    def __init__(self, becomes: str, channel: Channel, command: str) -> None:
        self.becomes = becomes
        self.channel: Channel = channel
        self.command = command
        """What makes it grow."""
        self.end, self.after = 0, 0
        """How many characters it has, and the seq after which the last of them came."""
        self._joined, self._pieces, self._weight = "", list[str](), 0

    def add(self, piece: str, after: int) -> None:
        """Let it grow, after event `after`; pieces are joined when they are read, or take much memory."""
        piece = sound(piece)  # as what it becomes will be; half a pair of surrogates cannot be sent
        size = len(piece)
        self._pieces.append(piece)
        self.end += size
        self.after = after
        self._weight += size + PIECE
        if self._weight > KEPT:
            self._join()

    def since(self, place: int) -> Delta:
        """What came since the character `place`, or as much of its end as is kept."""
        self._join()
        start = max(place, self.end - len(self._joined))
        text = self._joined[len(self._joined) - (self.end - start) :]
        return Delta(self.becomes, self.channel, text, start, self.after)

    def _join(self) -> None:
        if self._pieces:
            self._joined = "".join((self._joined, *self._pieces))[-KEPT:]
            self._pieces.clear()
            self._weight = 0


class Reader:
    """A subscriber's place in each thing that grows now: in `places`, by whoever knows what begins and ends."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: dict[Draft, int] = {}

    def read(self) -> Delta | None:
        """The next piece that it has not read, from what it read least recently; None when it has read everything."""
        for draft, place in self.places.items():
            if place < draft.end:
                del self.places[draft]
                self.places[draft] = draft.end
                return draft.since(place)
        return None
