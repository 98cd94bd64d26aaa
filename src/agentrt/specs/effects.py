"""`Effects`: the effects of a tool call, as declared by the tool before the call runs."""

from __future__ import annotations

from typing import Literal

from .given import Given


class FileText(Given, frozen=True):
    """A file to be written, and its complete new text; None if the text is not known before."""

    path: str
    text: str | None = None


class Source(Given, frozen=True):
    """A program as text. With `typed`, it is input for a program that is already running."""

    text: str
    language: Literal["shell", "python"] = "shell"
    typed: bool = False


class Sent(Given, frozen=True):
    """A request that may change something: the URL, or the host with its port, and what is sent, such as "POST"."""

    where: str
    what: str = ""


class Effects(Given, frozen=True):
    """The things that a call reads, writes, runs, reaches and sends; by default nothing.

    Paths are absolute, begin with `~`, or are relative to the workspace. `runs` contains shell commands, and other
    programs as `Source`. `reaches` contains URLs or hosts. `sends` contains those of requests that may change
    something, as they have a body or a method such as POST. A directory includes everything below it.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str | FileText, ...] = ()
    runs: tuple[str | Source, ...] = ()
    reaches: tuple[str, ...] = ()
    sends: tuple[str | Sent, ...] = ()

    @property
    def files(self) -> tuple[FileText, ...]:
        """The files to be written, with their texts."""
        return tuple([FileText(one) if isinstance(one, str) else one for one in self.writes]) if self.writes else ()

    @property
    def requests(self) -> tuple[Sent, ...]:
        """The requests that may change something."""
        return tuple([Sent(one) if isinstance(one, str) else one for one in self.sends]) if self.sends else ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """The programs to be run."""
        return tuple([Source(one) if isinstance(one, str) else one for one in self.runs]) if self.runs else ()
