"""How a run is shown while it goes: live on a terminal, as plain lines elsewhere, or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Protocol

from rich.console import Console
from rich.status import Status
from rich.text import Text

from ..codec import encode
from ..deltas import Delta
from ..events import ActionEvent, Event, ExecutionStarted, MessageEvent, ModelCalled, ModelCallStarted
from ..specs import ToolDefinition
from ..specs.content import plain
from .story import Story
from .wording import clean


class View(Protocol):
    """Shows a run."""

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """A run of an agent with these tools begins."""
        ...

    def show(self, item: Event | Delta) -> None:
        """Show one thing that happened."""
        ...

    def rest(self) -> None:
        """Nothing moves for now: stop spinners, end open lines."""
        ...


class JsonView:
    """One event a line, as in the log."""

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """Nothing to do."""

    def show(self, item: Event | Delta) -> None:
        """Print an event; deltas are left out."""
        if isinstance(item, Event):
            sys.stdout.write(encode(item).decode() + "\n")
            sys.stdout.flush()

    def rest(self) -> None:
        """Nothing to do."""


class PlainView:
    """Lines, each printed once it is whole."""

    def __init__(self, console: Console, *, folded: bool = True) -> None:
        self._console, self._story = console, Story(folded=folded)

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """Take the tools' words for their calls."""
        self._story.use(tools)

    def show(self, item: Event | Delta) -> None:
        """Print the lines of an event."""
        if isinstance(item, Event):
            for line in self._story.tell(item):
                self._console.print(line, soft_wrap=True)

    def rest(self) -> None:
        """Nothing to do."""


class LiveView:
    """Text as it streams in, and a spinner while the model thinks or a tool runs."""

    def __init__(self, console: Console) -> None:
        self._console, self._story = console, Story()
        self._spinner: Status | None = None
        self._open = False
        """Whether a line is unfinished."""
        self._streamed = ("", 0)
        """The id of what streamed in last, and how many characters of it."""

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """Take the tools' words for their calls."""
        self._story.use(tools)

    def show(self, item: Event | Delta) -> None:
        """Show a piece or an event."""
        if isinstance(item, Delta):
            self._piece(item)
            return
        if item.id in self._story.said:
            self._complete(item)
        lines = list(self._story.tell(item))
        if lines or (isinstance(item, ModelCalled) and not self._open):
            self.rest()
        for line in lines:
            self._console.print(line)
        match item:
            case ModelCallStarted():
                self._spin("thinking")
            case ExecutionStarted():
                self._spin("running")
            case _:
                pass

    def rest(self) -> None:
        """Stop the spinner and end an open line."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None
        if self._open:
            self._console.print()
            self._open = False

    def _piece(self, delta: Delta) -> None:
        if delta.channel == "text":
            if self._streamed != (delta.becomes, delta.start):
                self.rest()
                if delta.start == 0:
                    self._story.said.add(delta.becomes)
                else:  # some was skipped: the story tells the whole
                    self._story.said.discard(delta.becomes)
            self._write(delta.text)
            self._streamed = (delta.becomes, delta.start + len(delta.text))
        elif self._spinner is not None and delta.channel == "output" and delta.text.strip():
            last = clean(delta.text.strip().splitlines()[-1])
            self._spinner.update(Text(f"running  {last[:80]}", "dim"))

    def _write(self, text: str) -> None:
        if not self._open:
            self.rest()
            self._open = True
        self._console.print(Text(clean(text)), end="", soft_wrap=True)

    def _complete(self, event: Event) -> None:
        """Write what did not stream in of an event that began to, and end its line."""
        streamed, place = self._streamed
        match event:
            case MessageEvent(id=id) if id == streamed:
                rest = plain(event.content)[place:]
            case ActionEvent(id=id) if id == streamed:
                rest = event.thought[place:]
            case _:
                rest = ""
        if rest:
            self._write(rest)
        self.rest()

    def _spin(self, what: str) -> None:
        self.rest()
        self._spinner = self._console.status(Text(what, "dim"), spinner="dots")
        self._spinner.start()


def view_for(console: Console, *, as_json: bool) -> View:
    """The view that fits where the output goes."""
    if as_json:
        return JsonView()
    return LiveView(console) if console.is_terminal else PlainView(console)
