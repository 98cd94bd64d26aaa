"""`Effects`: what a call of a tool touches, as the tool itself says before the call runs."""

from __future__ import annotations

from typing import Literal

from .given import Given


class FileText(Given, frozen=True):
    """A file that is written, and the whole text that it has then; None where that is not known before."""

    path: str
    text: str | None = None


class Source(Given, frozen=True):
    """A program as text. One that is `typed` is input of a program that runs already."""

    text: str
    language: Literal["shell", "python"] = "shell"
    typed: bool = False


class Effects(Given, frozen=True):
    """What a call reads, writes, runs and reaches; the default is nothing.

    Paths are absolute, begin with `~`, or are relative to the workspace. `runs` has shell commands, and other programs
    as `Source`. `reaches` has URLs or hosts. A directory stands for all that is below it.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str | FileText, ...] = ()
    runs: tuple[str | Source, ...] = ()
    reaches: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[FileText, ...]:
        """What is written, with its text."""
        return tuple(FileText(one) if isinstance(one, str) else one for one in self.writes)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is run."""
        return tuple(Source(one) if isinstance(one, str) else one for one in self.runs)
