"""`Session`: one shell of a terminal, and the last command that was started in it."""

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
from ...placing import Place
from ...protocols import ToolContext
from ...sandboxes.shell import Shell
from ...specs.quota import PROCESSES
from .escapes import Unescaping
from .keys import INTERRUPT, typed, typed_on_screen
from .printed import Printed
from .screen import SET_UP, VARIABLES, Screen

IN_A_THREAD = 256 * 1024
"""Output of at least so many bytes is prepared in a thread."""

DRAWN_IN_A_THREAD = 16 * 1024
"""Output of more than so many bytes is drawn on a screen in a thread."""

ADOPT_SECONDS = 1.0
"""Seconds without output after which it is checked whether a command has replaced the shell by another bash."""

COUNT_SECONDS = 0.25
"""Seconds from one count of the processes to the next, if their number is limited."""

SETTLED_SECONDS = 0.4
"""Seconds without a change after which a screen is shown."""

FIRST_SECONDS = 2.0
"""Seconds that a program has for its first change of the screen."""

CHANGING_SECONDS = 3.0
"""Seconds after which a screen that keeps changing is shown, if the call has no timeout."""

NAMED = 60
"""Maximum number of characters of a command by which a later call is told of it."""

Status: TypeAlias = Literal["completed", "no_change_timeout", "hard_timeout", "reset"]
Count: TypeAlias = Callable[[int], Awaitable[int]]
"""Counts the processes of all shells of a terminal, up to a number."""


class Given(msgspec.Struct, frozen=True):
    """The arguments of one call."""

    command: str
    is_input: bool = False
    timeout: float | None = None
    screen: bool = False

    @property
    def polls(self) -> bool:
        """Whether the call only waits: its command is empty (ENTER types Enter), or white space that is not input."""
        return not self.command or not (self.is_input or self.command.strip())


class Session:
    """A shell that its first command starts."""

    def __init__(
        self, place: Place, no_change: float, most: int | None, count: Count, *, ends_late: bool = False
    ) -> None:
        """`ends_late`: whether a command that reaches its time limit is ended instead of left running."""
        self._place, self._no_change, self._most, self._count_all = place, no_change, most, count
        self._ends_late = ends_late
        self._command = self._limit = ""
        """The last command, and the time limit that it has reached."""
        self._shell: Shell | None = None
        self._began = False
        """Whether it ever had a shell."""
        self._context: ToolContext | None = None
        """The context of the running call. Output between calls is shown by the next poll."""
        self._printed: Printed | None = None
        """Output of the last command."""
        self.screen: Screen | None = None
        """Screen of the last command, if it has one."""
        self._unseen = False
        """Whether a command was left running and no call has shown its end."""
        self.made_again = False
        """Whether the workspace was gone, and was made again, when this call started the shell."""
        self._counted = 0.0
        """Time of the last count of processes."""

    @property
    def shell(self) -> Shell:
        """The shell, once it has been started."""
        assert self._shell is not None
        return self._shell

    @property
    def alive(self) -> bool:
        """Whether the session is in use: the shell runs, or no call has shown the end of its command."""
        return self._shell is not None and (self._shell.alive or self._unseen)

    def lost(self, polls: bool) -> bool:
        """Return whether its shell has ended, so that a call starts a new one."""
        return self._began and (self._shell is None or not (self._shell.alive or (self._unseen and polls)))

    async def at_work(self) -> bool:
        """Return whether a command or a background job is running."""
        return self._shell is not None and await self._shell.at_work()

    async def processes(self, most: int) -> int:
        """Return the number of processes below the shell, counted up to `most`."""
        return 0 if self._shell is None else await self._shell.processes(most)

    async def call(self, given: Given, context: ToolContext) -> Status:
        """Run, poll or feed a command. Raises `ToolError` for a call that does not fit, such as a second command."""
        self._context, self.made_again = context, False
        try:
            shell = await self.started(given.polls, context)
            await self._give(shell, given, context)
            status = await self._wait(shell, given.timeout)
            if status != "completed" and self.screen is None:
                quiet = f"{self._no_change:g} s without output"
                self._limit = self._limit or (quiet if given.timeout is None else f"its timeout of {given.timeout:g} s")
                if self._ends_late:
                    await self._end_late(shell)
            return status
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._cut(context)
            raise
        finally:
            self._context = None

    async def _cut(self, context: ToolContext) -> None:
        """End the running command, and the shell if it does not answer."""
        self._unseen = False
        if (shell := self._shell) is None:
            return
        signals = await shell.interrupt()
        context.output(f"\n[interrupted with {', '.join(signals)}]")
        if shell.running or not shell.alive:
            await self.end()

    async def _end_late(self, shell: Shell) -> None:
        """End a command that has reached its time limit; its output so far stays. Raise `ToolError` if the shell had to
        be ended with it.
        """
        with anyio.CancelScope(shield=True):
            await shell.interrupt()
            if shell.running or not shell.alive:
                await self.end()
                raise ToolError(
                    f"{self._command!r} was ended after {self._limit}, and the shell with it, which had not come back:"
                    " the next command starts a new one in the workspace"
                )

    async def end(self) -> None:
        """End the shell and all that it started."""
        shell, self._shell, self._unseen, self.screen = self._shell, None, False, None
        if shell is not None:
            with anyio.CancelScope(shield=True):
                await shell.close()

    async def started(self, polls: bool, context: ToolContext) -> Shell:
        """Return the shell. Start one if there is none or it has ended, unless the call polls for its last output."""
        if self._shell is not None and not self._shell.alive and not (self._unseen and polls):
            await self.end()
        if self._shell is None:
            self.made_again = await self._place.prepare()
            shell = Shell(self._place.console(), Path(context.workspace.path))
            await shell.start()
            self._shell, self._began = shell, True
        return self._shell

    def _show(self, text: str) -> None:
        if self._context is not None and text:
            self._context.output(text)

    async def _give(self, shell: Shell, given: Given, context: ToolContext) -> None:
        if shell.running:
            if given.polls:
                return
            if not given.is_input:
                reached = f" after {self._limit}" if self._limit else ""
                raise ToolError(
                    f"this command was not run, because {self._command!r} is still running here{reached}. Wait for it"
                    " with an empty command, stop it with C-c as is_input, run this one in another session, or end all"
                    " of this one with reset"
                )
            if self.screen is not None:  # a full-screen program takes C-c as a key
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
        first, _, more = context.masked(given.command).strip().partition("\n")  # a cut could split a secret
        self._command, self._limit = first[:NAMED] + ("..." if more or len(first) > NAMED else ""), ""
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
        """Return the seconds until the call leaves the command running, if it prints nothing more."""
        if self.screen is None:
            return self._no_change - quiet if timeout is None else timeout - waited
        changed = quiet < waited  # it has printed something since the call began
        settled = SETTLED_SECONDS - quiet if changed else FIRST_SECONDS - waited
        return min(settled, (CHANGING_SECONDS if timeout is None else timeout) - waited)

    async def _count(self) -> None:
        """Count the processes of all shells. If too many, end this shell with all that it ran and raise `ToolError`."""
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
        """Return what the command has printed since the last call, or what its screen shows."""
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
