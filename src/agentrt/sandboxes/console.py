"""`Console`: where a bash runs on a terminal of its own, here or in a container: what a `Shell` needs of that place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol

from .lending import Loan

ROWS, COLUMNS = 50, 200
"""The size of the terminal."""

PATIENCE = 2.0
"""Seconds that a command has to take its input, and bash to end."""

Heard = Callable[[bytes], None]
"""Told what the terminal brings; nothing at all once it has hung up."""


class Console(Protocol):
    """One bash; `close` may come at any time and ends it with all that it started."""

    @property
    def scratch(self) -> Path:
        """A directory of this machine that bash sees under the same path; there once it was prepared."""
        ...

    async def prepare(self) -> None:
        """Make `scratch`. Raises `ToolError` where no bash can be."""
        ...

    async def start(self, token: str, directory: str, start: Path, heard: Heard) -> None:
        """Start bash in `directory` with `start` as its rc file. Raises `ToolError` or `OSError`.

        `AGENTRT_SHELL` is `token` in the environment of all that it starts.
        """
        ...

    @property
    def alive(self) -> bool:
        """Whether bash still runs."""
        ...

    async def begin(self) -> None:
        """Remember what runs: it belongs to no command that comes later. The terminal is as at the start again."""
        ...

    async def send(self, data: bytes) -> int:
        """Type; how many bytes were taken within `PATIENCE`. Raises `OSError` when the terminal is gone."""
        ...

    def forget_input(self) -> None:
        """Drop what was typed and not read: bash would run it. C-c is a signal again, as at the start."""
        ...

    def take_back(self) -> Collection[str]:
        """Variables that bash was started with, and that have become secrets since: the next command must not have
        them. Each is named once: what a command then sets is its own.
        """
        ...

    def lend(self, variables: Mapping[str, str]) -> Loan:
        """Variables for the command that comes next. Raises `ToolError` for more than can be handed over."""
        ...

    async def busy(self) -> bool:
        """Whether bash has a process below it."""
        ...

    async def at_prompt(self) -> bool:
        """Whether bash waits for a command, as far as that can be told from outside."""
        ...

    async def replaced(self) -> bool:
        """Whether another bash has taken the place of the first one, and waits for a command, as far as can be told."""
        ...

    async def processes(self, most: int) -> int:
        """How many processes are below bash; at `most`, no more are looked for."""
        ...

    async def end(self, call: str) -> tuple[str, ...]:
        """End what began since `begin`, or has `call` as its `AGENTRT_CALL`. Returns the signals that were needed."""
        ...

    async def settle(self) -> None:
        """A command has ended: take back what of its effects must not leave its place."""
        ...

    async def exit_code(self) -> int:
        """That of bash, which has ended, as a shell gives it: 128 and the signal's number when one ended it."""
        ...

    async def close(self) -> None:
        """End bash and all that it started, and remove `scratch`; may be called twice, and before the start."""
        ...
