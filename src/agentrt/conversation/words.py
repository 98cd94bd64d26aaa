"""`Words`: what an agent says in a run, piece by piece, from its deltas and events. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ..deltas import Delta
from ..events import ActionEvent, Event, MessageEvent
from ..specs.content import plain

BETWEEN = "\n\n"
"""The text between two messages."""


class Words:
    """Turns deltas and events into the pieces of text that a reader has not had yet."""

    def __init__(self) -> None:
        self._place = ""
        """The id of the event that will hold what is being said."""
        self._length = 0
        """Number of its characters that were given."""
        self._any = False
        self._last = ""

    def take(self, item: Event | Delta) -> Iterator[str]:
        """Yield what is new in a delta or an event."""
        match item:
            case Delta(channel="text"):
                yield from self._more(item.becomes, item.start, item.text)
            case MessageEvent(source="agent", complaint=False):
                yield from self._rest(item.id, plain(item.content))
            case ActionEvent() if item.thought:
                yield from self._rest(item.id, item.thought)
            case _:
                pass

    def end(self, answer: str | None) -> Iterator[str]:
        """Yield the answer at the end of a run, unless it was said: that of a call of `finish`."""
        if answer and answer != self._last:
            yield from self._more("", 0, answer)

    def _rest(self, place: str, whole: str) -> Iterator[str]:
        begun = self._length if place == self._place else 0
        self._last = whole
        yield from self._more(place, begun, whole[begun:])

    def _more(self, place: str, start: int, text: str) -> Iterator[str]:
        if place != self._place:
            self._place, self._length = place, 0
            if self._any and text:
                yield BETWEEN
        if start > self._length:  # some was missed: the event has it
            return
        self._length = start + len(text)
        if text:
            self._any = True
            yield text
