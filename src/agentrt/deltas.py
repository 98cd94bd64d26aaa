"""`Delta`: a streamed piece of an unfinished event; and the text so far, which the pieces are cut from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from .specs.content import sound

Channel: TypeAlias = Literal["text", "reasoning", "output"]

KEPT = 64 * 1024
"""Maximum number of characters that are kept, from the end of the text."""

PIECE = 64
"""Characters that a piece counts for in addition to its text until it is joined: about its memory overhead."""


class Delta(msgspec.Struct, frozen=True, tag_field="type", tag=True):
    """A streamed piece of an unfinished event: never stored, and void once its event exists.

    `becomes` is the id of the event that will hold the whole text. The piece begins at the character `start` of that
    event's text on this `channel`. A reader with the first n characters has missed some if `start` is greater than n,
    and must start over if it is less. `after` is the seq of the last event that was published when the piece was shown.
    """

    becomes: str
    channel: Channel
    text: str
    start: int
    after: int


class Draft:
    """The text so far of an unfinished event on one channel; its last `KEPT` characters are kept.

    Pieces are collected until they are read, or until they take much memory. Then they are joined, and `hide` removes
    the secrets from them; text that it holds back at the end comes with the next pieces.
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
        """The command that produces the text."""
        self.after = 0
        """The seq of the last event before its last piece."""
        self._end, self._hide = start, hide
        self._joined, self._pieces, self._weight = "", list[str](), 0

    @property
    def end(self) -> int:
        """The number of characters so far."""
        self._join()
        return self._end

    def add(self, piece: str, after: int) -> None:
        """Append a piece, after event `after`."""
        self._pieces.append(piece)
        self.after = after
        self._weight += len(piece) + PIECE
        if self._weight > KEPT:
            self._join()

    def since(self, place: int) -> Delta:
        """Return the text since the character `place`, or as much of its end as is kept."""
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
    """A subscriber's positions in the current texts, in `places`, which the owner of the drafts keeps up to date."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: dict[Draft, int] = {}

    def read(self) -> Delta | None:
        """Return the next unread piece, of the least recently read text; None if everything was read."""
        for draft, place in self.places.items():
            if place < (end := draft.end):
                del self.places[draft]
                self.places[draft] = end
                return draft.since(place)
        return None
