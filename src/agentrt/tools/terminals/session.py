"""`Session`: one shell of a terminal, and the command that was begun last in it."""

from __future__ import annotations

import codecs
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import anyio.to_thread
import msgspec

from ...errors import ToolError
from ...protocols import ToolContext
from ...sandboxes.place import Place
from ...sandboxes.shell import Shell
from ...specs.quota import PROCESSES
from ..workplace import made_again
from .escapes import Unescaping
from .keys import INTERRUPT, typed, typed_on_screen
from .printed import Printed
from .screen import SET_UP, VARIABLES, Screen

IN_A_THREAD = 256 * 1024
"""Bytes of output from which on it is prepared in a thread."""

DRAWN_IN_A_THREAD = 16 * 1024
"""The same where a screen shows them."""

ADOPT_SECONDS = 1.0
"""After this long without output it is looked whether a command has put another bash in the place of the shell."""

COUNT_SECONDS = 0.25
"""How often the processes of a command are counted, where there is a limit."""

SETTLED_SECONDS = 0.4
"""After this long without a change a screen is shown."""

FIRST_SECONDS = 2.0
"""How long a program has to change its screen at all."""

CHANGING_SECONDS = 3.0
"""After this long a screen is shown that changes all the time."""

Status: TypeAlias = Literal["completed", "no_change_timeout", "hard_timeout", "reset"]
Count: TypeAlias = Callable[[int], Awaitable[int]]
"""How many processes all shells of a terminal have, counted up to a number."""


class Given(msgspec.Struct, frozen=True):
    """What one call gives a session."""

    command: str
    is_input: bool = False
    timeout: float | None = None
    screen: bool = False

    @property
    def polls(self) -> bool:
        """Whether it only waits: an empty command does, said to be input or not; ENTER is a key."""
        return not self.command or not (self.is_input or self.command.strip())


class Session:
    """One shell, started by its first command."""

    def __init__(self, place: Place, no_change: float, most: int | None, count: Count) -> None:
        self._place, self._no_change, self._most, self._count_all = place, no_change, most, count
        self._shell: Shell | None = None
        self._context: ToolContext | None = None
        """That of the call that runs; what is printed between calls is shown by the next poll."""
        self._printed: Printed | None = None
        """What the command that was begun last prints."""
        self.screen: Screen | None = None
        """What that command shows, where it has a screen."""
        self._unseen = False
        """Whether a command was left running whose end no call has shown."""
        self.made_again = False
        """Whether the workspace was gone when the shell of this call started."""
        self._counted = 0.0
        """When the processes were counted last."""

    @property
    def shell(self) -> Shell:
        """Its shell, once a command was given."""
        assert self._shell is not None
        return self._shell

    @property
    def alive(self) -> bool:
        """Whether it holds anything: a shell that runs, or the end of one that no call has shown."""
        return self._shell is not None and (self._shell.alive or self._unseen)

    async def at_work(self) -> bool:
        """Whether a command was left running, or a job in the background."""
        return self._shell is not None and await self._shell.at_work()

    async def processes(self, most: int) -> int:
        """How many processes it has, counted up to `most`."""
        return 0 if self._shell is None else await self._shell.processes(most)

    async def call(self, given: Given, context: ToolContext) -> Status:
        """Run, poll or feed a command. Raises `ToolError` for a call that does not fit what runs."""
        self._context, self.made_again = context, False
        try:
            shell = await self.started(given.polls, context)
            await self._give(shell, given, context)
            return await self._wait(shell, given.timeout)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._cut(context)
            raise
        finally:
            self._context = None

    async def _cut(self, context: ToolContext) -> None:
        """End what runs, and the shell where that does not answer."""
        self._unseen = False
        if (shell := self._shell) is None:
            return
        signals = await shell.interrupt()
        context.output(f"\n[ended with {', '.join(signals)}]")
        if shell.running or not shell.alive:
            await self.end()

    async def end(self) -> None:
        """End the shell and all that it started."""
        shell, self._shell, self._unseen, self.screen = self._shell, None, False, None
        if shell is not None:
            with anyio.CancelScope(shield=True):
                await shell.close()

    async def started(self, polls: bool, context: ToolContext) -> Shell:
        """The shell; a new one where there is none, or the last one has ended and that was seen."""
        if self._shell is not None and not self._shell.alive and not (self._unseen and polls):
            await self.end()
        if self._shell is None:
            self.made_again = await made_again(context.workspace)
            shell = Shell(self._place.console(), Path(context.workspace.path))
            await shell.start()
            self._shell = shell
        return self._shell

    def _show(self, text: str) -> None:
        if self._context is not None and text:
            self._context.output(text)

    async def _give(self, shell: Shell, given: Given, context: ToolContext) -> None:
        if shell.running:
            if given.polls:
                return
            if not given.is_input:
                raise ToolError(
                    "a command is still running in this terminal: wait with an empty command, send it input with"
                    " is_input (C-c stops it), use another session, or start a new shell with reset"
                )
            if self.screen is not None:  # such a program takes C-c as a key
                await shell.send(typed_on_screen(given.command))
                return
            keys = typed(given.command)
            await (shell.cut() if keys == INTERRUPT else shell.send(keys))
            return
        if self._unseen and given.polls:
            return
        if self._unseen and given.is_input:
            raise ToolError("the command has ended meanwhile: see the rest of its output with an empty command")
        if given.is_input or given.polls:
            raise ToolError("no command is running in this terminal: send one")
        await self._begin(shell, given, context)

    async def _begin(self, shell: Shell, given: Given, context: ToolContext) -> None:
        variables = await context.secrets(given.command)
        self.screen = Screen(context.masking()) if given.screen else None
        self._printed = Printed(context.masking())
        decoder, plain = codecs.getincrementaldecoder("utf-8")("replace"), Unescaping()
        command = f"{SET_UP}{given.command}" if given.screen else given.command
        variables = {**variables, **VARIABLES} if given.screen else variables
        await shell.begin(command, lambda data: self._show(plain.feed(decoder.decode(data))), variables)

    async def _wait(self, shell: Shell, timeout: float | None) -> Status:
        begun = shell.last_change = time.monotonic()
        looked = False
        while shell.running:
            now = time.monotonic()
            quiet, waited = now - shell.last_change, now - begun
            left = self._left(quiet, waited, timeout)
            if left <= 0:
                return "no_change_timeout" if timeout is None else "hard_timeout"
            if quiet >= ADOPT_SECONDS and not looked:
                looked = True
                await shell.adopt()
            left = left if looked else min(left, max(ADOPT_SECONDS - quiet, 0.01))
            await shell.wait(left if self._most is None else min(left, COUNT_SECONDS))
            await self._count()
        return "completed"

    def _left(self, quiet: float, waited: float, timeout: float | None) -> float:
        """Seconds until what runs is left running, if it prints nothing more."""
        if self.screen is None:
            return self._no_change - quiet if timeout is None else timeout - waited
        changed = quiet < waited  # it has printed something since the call began
        settled = SETTLED_SECONDS - quiet if changed else FIRST_SECONDS - waited
        return min(settled, (CHANGING_SECONDS if timeout is None else timeout) - waited)

    async def _count(self) -> None:
        """See that there are not too many processes. Raises `ToolError` when there are; then they are ended, all."""
        if self._most is None or time.monotonic() - self._counted < COUNT_SECONDS:
            return
        self._counted = time.monotonic()
        if await self._count_all(self._most + 1) > self._most:
            await self.end()
            raise ToolError(
                f"the commands of this terminal had more than {self._most} processes at once, which is what they may"
                f" have here ({PROCESSES}): the shell was ended, with all that it ran"
            )

    async def new(self) -> str:
        """What the command has printed since the last call, or what its screen shows."""
        shell, screen = self.shell, self.screen
        self._unseen = shell.running
        data, printed = shell.take(), self._printed
        if screen is not None:
            draw = partial(screen.feed, data)
            await (anyio.to_thread.run_sync(draw) if len(data) > DRAWN_IN_A_THREAD else _at_once(draw))
            return "\n".join(screen.lines)
        assert printed is not None
        more = partial(printed.more, data, last=not shell.running)
        return (more() if len(data) < IN_A_THREAD else await anyio.to_thread.run_sync(more)).rstrip("\n")


async def _at_once(function: Callable[[], None]) -> None:
    function()
