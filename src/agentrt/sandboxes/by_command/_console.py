"""`LinkedConsole`: a bash at the far end of a link, on a terminal of its own."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import PurePath
from secrets import token_hex
from typing import Any

import anyio
import msgspec

from ...errors import ToolError
from ...placing import PIPE, StartSoon
from ..asked import Running
from ..console import COLUMNS, PATIENCE, ROWS, Heard, is_plain_bash
from ..environment import QUIET
from ..lending import Loan, file_script
from ..local import ADOPTS
from ._far import TERMINAL
from ._link import Link

_ON_TERMINAL = 'exec bash --noprofile --noediting --rcfile "$1" -i <"$0" >"$0" 2>&1'
"""For sh. A session leader that opens a terminal gets it as its controlling terminal."""


_AT_ONCE = 4096
"""Bytes that are typed at once: no terminal holds more."""


class LinkedConsole:
    """A `Console` at the far end of a link."""

    def __init__(self, linked: Callable[[], Awaitable[Link]], start_soon: StartSoon, marks: Mapping[str, str]) -> None:
        """`linked` begins the link if it is not there; `marks` are in the environment of all that bash starts."""
        self._linked, self._start_soon, self._marks = linked, start_soon, marks
        self._link: Link | None = None
        self._scratch: PurePath | None = None
        self._files: Mapping[str, str] = {}
        self._bash: Running | None = None
        self._heard: Heard = lambda data: None

    @property
    def scratch(self) -> PurePath:
        """A directory at the far end."""
        assert self._scratch is not None
        return self._scratch

    async def prepare(self, files: Mapping[str, str]) -> None:
        """Begin the link, and make `scratch` with these files. Raises `ToolError` if there is no bash."""
        self._link, self._files = await self._linked(), files
        self._scratch = PurePath(self._link.scratch, f"shell-{token_hex(8)}")
        await self._link.ask("fill", directory=str(self._scratch), files=dict(files))

    async def store(self, name: str, text: str) -> None:
        """Write a file into `scratch`."""
        await self._there.ask("fill", directory=str(self.scratch), files={**self._files, name: text})

    @property
    def _there(self) -> Link:
        assert self._link is not None
        return self._link

    async def start(self, token: str, directory: str, start: PurePath, heard: Heard) -> None:
        """Start bash. Raises `OSError` and `ToolError`."""
        self._heard = heard
        shell = ["/bin/sh", "-c", _ON_TERMINAL, TERMINAL, str(start)]
        self._bash = await self._there.run(
            [self._there.python, "-I", "-S", "-c", ADOPTS, *shell],
            directory,
            {**QUIET, **self._marks, "AGENTRT_SHELL": token, "PWD": directory},
            (None, PIPE, None),
            (ROWS, COLUMNS),
        )
        self._start_soon(partial(self._listen, self._bash))

    async def _listen(self, bash: Running) -> None:
        assert bash.stdout is not None
        try:
            async for data in bash.stdout:
                self._heard(data)
        except anyio.ClosedResourceError:
            pass
        finally:
            self._heard(b"")

    @property
    def alive(self) -> bool:
        """Whether bash still runs."""
        return self._bash is not None and self._bash.returncode is None

    async def begin(self) -> None:
        """Remember what runs, and give the terminal its first settings again."""
        await self._asked("note")

    async def _asked(self, op: str, **given: object) -> Any:
        assert self._bash is not None
        return await self._there.ask(op, pid=self._bash.pid, **given)

    async def send(self, data: bytes) -> int:
        """Type; return how many bytes were taken within `PATIENCE`. Raises `OSError`."""
        if not self.alive:
            raise OSError("it has ended")
        rest = data
        with anyio.move_on_after(PATIENCE):
            while rest:
                try:
                    taken = await self._asked("type", text=rest[:_AT_ONCE].decode("latin-1"))
                except ToolError as error:
                    raise OSError("it has ended") from error
                rest = rest[taken if isinstance(taken, int) and taken >= 0 else 0 :]
                if not taken:
                    await anyio.sleep(0.01)
        return len(data) - len(rest)

    def forget_input(self) -> None:
        """Drop input that was typed and not read, and make C-c a signal."""
        if self._bash is not None:
            self._there.soon("forget", pid=self._bash.pid)

    def take_back(self) -> Collection[str]:
        """Return no variables: the far end has none of this process."""
        return ()

    def lend(self, variables: Mapping[str, str]) -> Loan:
        """Return a loan of variables to the next command."""
        return LinkedLoan(self._there, f"{self.scratch}/loan-{token_hex(8)}", variables)

    async def _look(self, most: int) -> tuple[int, bool, list[str]]:
        """Return the number of processes below bash, whether it waits for a command, and its words."""
        try:
            found = await self._asked("look", most=most)
        except (ToolError, OSError):
            return 0, False, []
        try:
            return msgspec.convert(found, tuple[int, bool, list[str]])
        except msgspec.ValidationError:
            return 0, False, []

    async def busy(self) -> bool:
        """Return whether bash has a process below it."""
        return (await self._look(1))[0] > 0

    async def at_prompt(self) -> bool:
        """Return whether the terminal belongs to bash."""
        return (await self._look(0))[1]

    async def replaced(self) -> bool:
        """Return whether another bash, with options alone, has replaced the first one and has the terminal."""
        _, prompt, words = await self._look(0)
        return prompt and is_plain_bash(words)

    async def processes(self, most: int) -> int:
        """Return the number of processes below bash, at most `most`."""
        return (await self._look(most))[0]

    async def end(self, call: str) -> tuple[str, ...]:
        """End what began since `begin`, or has `call` as its `AGENTRT_CALL`. Return the signals that were needed."""
        try:
            sent = await self._asked("interrupt", mark=f"AGENTRT_CALL={call}")
        except (ToolError, OSError):  # all that ran has ended with the link
            return ()
        return tuple(str(one) for one in sent) if isinstance(sent, list) else ()

    async def settle(self) -> None:
        """Do nothing: commands there act as that user."""

    async def exit_code(self) -> int:
        """Return the exit code of bash: 128 plus the number of the signal that ended it, 1 if bash has not ended."""
        assert self._bash is not None
        with anyio.move_on_after(PATIENCE):
            code = await self._bash.wait()
            return code if code >= 0 else 128 - code
        return 1

    async def close(self) -> None:
        """End bash and all that it started."""
        if self._bash is not None:
            await self._bash.end()
            self._bash.close_pipes()
        if self._scratch is not None and self._link is not None:
            self._link.soon("clear", directory=os.fspath(self._scratch))


class LinkedLoan:
    """A loan to a bash at the far end: a file in the memory of the program there."""

    def __init__(self, link: Link, path: str, variables: Mapping[str, str]) -> None:
        self._link, self.path = link, path
        link.soon("lend", path=path, text=file_script(variables).decode("utf-8", "surrogateescape"))

    def close(self) -> None:
        """Drop the variables if they have not been read."""
        self._link.soon("take_back", path=self.path)
