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


class Effects(Given, frozen=True):
    """The things that a call reads, writes, runs and reaches; by default nothing.

    Paths are absolute, begin with `~`, or are relative to the workspace. `runs` contains shell commands, and other
    programs as `Source`. `reaches` contains URLs or hosts. A directory includes everything below it.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str | FileText, ...] = ()
    runs: tuple[str | Source, ...] = ()
    reaches: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[FileText, ...]:
        """The files to be written, with their texts."""
        return tuple(FileText(one) if isinstance(one, str) else one for one in self.writes)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The programs to be run."""
        return tuple(Source(one) if isinstance(one, str) else one for one in self.runs)
