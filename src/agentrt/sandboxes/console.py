"""`Console`: what a `Shell` needs of the place where bash runs on a terminal of its own, here or in a container."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Protocol

import anyio
import anyio.to_thread

from .lending import Loan

ROWS, COLUMNS = 50, 200
"""The size of the terminal."""

PATIENCE = 2.0
"""Maximum number of seconds to wait for a command to take its input, or for bash to end."""

Heard = Callable[[bytes], None]
"""Called with the bytes that the terminal brings, and with none once it has hung up."""


def fill(directory: Path, files: Mapping[str, str]) -> None:
    """Write files into a directory. For a thread."""
    for name, text in files.items():
        (directory / name).write_bytes(text.encode("utf-8", "replace"))


async def store(directory: Path, name: str, text: str, files: Mapping[str, str]) -> None:
    """Write a file into a directory of this machine, which is made again, with `files`, if it is gone."""
    data = text.encode("utf-8", "replace")
    try:
        await anyio.Path(directory, name).write_bytes(data)
    except FileNotFoundError:
        await anyio.to_thread.run_sync(_remade, directory, {**files, name: text})


def _remade(directory: Path, files: Mapping[str, str]) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    fill(directory, files)


def is_plain_bash(words: Sequence[str]) -> bool:
    """Return whether a command is a bash that was started with options alone, and not by a console."""
    name, arguments = os.path.basename(words[0]).removeprefix("-") if words else "", words[1:]
    return name == "bash" and "--rcfile" not in arguments and all(given.startswith("-") for given in arguments)


class Console(Protocol):
    """One bash. `close` may be called at any time, and ends bash with all that it started."""

    @property
    def scratch(self) -> PurePath:
        """The directory with the files that bash reads; it exists once `prepare` has returned."""
        ...

    async def prepare(self, files: Mapping[str, str]) -> None:
        """Make `scratch` with these files, given by their names. Raises `ToolError` if bash cannot run here."""
        ...

    async def store(self, name: str, text: str) -> None:
        """Write a file into `scratch`, which is made again if a command has removed it."""
        ...

    async def start(self, token: str, directory: str, start: PurePath, heard: Heard) -> None:
        """Start bash in `directory` with `start` as its rc file. Raises `ToolError` or `OSError`.

        All that bash starts has `AGENTRT_SHELL`, with `token` as its value, in its environment.
        """
        ...

    @property
    def alive(self) -> bool:
        """Whether bash still runs."""
        ...

    async def begin(self) -> None:
        """Remember what runs: it belongs to no later command. Reset the settings of a terminal on this machine."""
        ...

    async def send(self, data: bytes) -> int:
        """Type; return how many bytes were taken within `PATIENCE`. Raises `OSError` if the terminal is gone."""
        ...

    def forget_input(self) -> None:
        """Drop input that was typed and not read, because bash would run it, and make C-c a signal again."""
        ...

    def take_back(self) -> Collection[str]:
        """Return the variables that bash was started with and that have become secrets since: the next command must not
        have them. Each is returned once, because a later value is one that a command has set.
        """
        ...

    def lend(self, variables: Mapping[str, str]) -> Loan:
        """Return a loan of variables to the next command. Raises `ToolError` if they are too large."""
        ...

    async def busy(self) -> bool:
        """Return whether bash has a process below it."""
        ...

    async def at_prompt(self) -> bool:
        """Return whether bash waits for a command, as far as that can be seen from outside."""
        ...

    async def replaced(self) -> bool:
        """Return whether another bash has replaced the first one and waits for a command, as far as can be seen."""
        ...

    async def processes(self, most: int) -> int:
        """Return the number of processes below bash, counted up to `most`."""
        ...

    async def end(self, call: str) -> tuple[str, ...]:
        """End what began since `begin`, or has `call` as its `AGENTRT_CALL`. Return the signals that were needed."""
        ...

    async def settle(self) -> None:
        """Undo effects of a command that has ended, if they must not leave this place."""
        ...

    async def exit_code(self) -> int:
        """Return the exit code of bash, which has ended: 128 plus the signal's number if a signal ended it."""
        ...

    async def close(self) -> None:
        """End bash and all that it started, and remove `scratch`. May be called twice, and before the start."""
        ...
