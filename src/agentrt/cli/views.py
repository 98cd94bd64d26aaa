"""How a run is displayed: live on a terminal, as plain lines elsewhere, or as JSON."""

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
from .story import Story, with_margin
from .wording import clean


class View(Protocol):
    """Displays a run."""

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """Begin a run of an agent with these tools."""
        ...

    def show(self, item: Event | Delta) -> None:
        """Show one event or delta."""
        ...

    def rest(self) -> None:
        """Stop spinners and end open lines, because nothing more comes for now."""
        ...


class JsonView:
    """Prints one event on each line, as in the log."""

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """Do nothing."""

    def show(self, item: Event | Delta) -> None:
        """Print an event; deltas are left out."""
        if isinstance(item, Event):
            sys.stdout.write(encode(item).decode() + "\n")
            sys.stdout.flush()

    def rest(self) -> None:
        """Do nothing."""


class PlainView:
    """Prints each line when it is complete."""

    def __init__(self, console: Console, *, folded: bool = True) -> None:
        self._console, self._story = console, Story(folded=folded)

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """Use these tools to describe their calls."""
        self._story.use(tools)

    def show(self, item: Event | Delta) -> None:
        """Print the lines of an event."""
        if isinstance(item, Event):
            for line in self._story.tell(item):
                self._console.print(line, soft_wrap=True)

    def rest(self) -> None:
        """Do nothing."""


class Indicator(Protocol):
    """Shows what is running."""

    def start(self, what: str) -> None:
        """Show that this is running from now on."""
        ...

    def update(self, what: str) -> None:
        """Show its latest output, if it is running."""
        ...

    def stop(self) -> None:
        """Show that nothing is running."""
        ...


class Spinner:
    """An `Indicator` on the terminal's last line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None

    def start(self, what: str) -> None:
        """Start the spinner."""
        self.stop()
        self._status = self._console.status(Text(what, "dim"), spinner="dots")
        self._status.start()

    def update(self, what: str) -> None:
        """Show the text beside the spinner."""
        if self._status is not None:
            self._status.update(Text(f"running  {what}", "dim"))

    def stop(self) -> None:
        """Remove the spinner."""
        if self._status is not None:
            self._status.stop()
            self._status = None


class LiveView:
    """Shows text as it streams in, and an indicator while the model thinks or a tool runs; with `thoughts`, also the
    model's thoughts.
    """

    def __init__(self, console: Console, indicator: Indicator | None = None, *, thoughts: bool = False) -> None:
        self._console, self._story = console, Story(asks=True)
        self._indicator = indicator or Spinner(console)
        self._channels = ("text", "reasoning") if thoughts else ("text",)
        self._open = False
        """Whether a line is unfinished."""
        self._streamed = ("", "", 0)
        """The id and channel of the text that streamed in last, and its number of characters."""

    def begin(self, tools: Iterable[ToolDefinition]) -> None:
        """Use these tools to describe their calls."""
        self._story.use(tools)

    def show(self, item: Event | Delta) -> None:
        """Show a delta or an event."""
        if isinstance(item, Delta):
            self._piece(item)
            return
        if item.id in self._story.said:
            self._complete(item)
        lines = list(self._story.tell(item))
        if lines or (isinstance(item, ModelCalled) and not self._open):
            self.rest()
        for line in lines:
            self._console.print(with_margin(line, self._console))
        match item:
            case ModelCallStarted():
                self._begin("thinking")
            case ExecutionStarted():
                self._begin("running")
            case _:
                pass

    def rest(self) -> None:
        """Stop the indicator and end an open line."""
        self._indicator.stop()
        if self._open:
            self._console.print()
            self._open = False

    def _piece(self, delta: Delta) -> None:
        if delta.channel in self._channels:
            if self._streamed != (delta.becomes, delta.channel, delta.start):
                self.rest()
                if delta.channel == "text":
                    if delta.start == 0:
                        self._story.said.add(delta.becomes)
                    else:  # some was skipped: the story tells the whole
                        self._story.said.discard(delta.becomes)
            self._write(delta.text, "dim italic" if delta.channel == "reasoning" else "")
            self._streamed = (delta.becomes, delta.channel, delta.start + len(delta.text))
        elif delta.channel == "output" and delta.text.strip():
            self._indicator.update(clean(delta.text.strip().splitlines()[-1])[:80])

    def _write(self, text: str, style: str = "") -> None:
        if not self._open:
            self.rest()
            self._open = True
        self._console.print(Text(clean(text), style), end="", soft_wrap=True)

    def _complete(self, event: Event) -> None:
        """Write the part of an event that has not streamed in yet, and end its line."""
        streamed, channel, place = self._streamed
        match event:
            case MessageEvent(id=id) if id == streamed and channel == "text":
                rest = plain(event.content)[place:]
            case ActionEvent(id=id) if id == streamed and channel == "text":
                rest = event.thought[place:]
            case _:
                rest = ""
        if rest:
            self._write(rest)
        self.rest()

    def _begin(self, what: str) -> None:
        self.rest()
        self._indicator.start(what)


def view_for(console: Console, *, as_json: bool) -> View:
    """Return the view for the output's destination."""
    if as_json:
        return JsonView()
    return LiveView(console) if console.is_terminal else PlainView(console)
