"""`terminal`: a persistent shell."""

from __future__ import annotations

import codecs
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import anyio
import anyio.to_thread
import msgspec
from msgspec import Meta

from ..errors import ToolError
from ..protocols import Observation, ToolContext
from ..sandboxes.place import Place, place_of
from ..sandboxes.shell import Shell
from ..specs import Content, OnCrash, Same, TextContent, ToolAnnotations, Workspace
from ..specs.effects import Effects, Source
from ..specs.quota import PROCESSES
from .clipping import clip, whole_in
from .definition import Params, ToolType
from .escapes import Unescaping
from .printed import Printed

MAX_OUTPUT = 30_000
"""Characters of output that the model sees of one call; the whole is kept as a blob, and in a file that it can read."""

NO_CHANGE_SECONDS = 30.0
"""After this long without output a command that has no time limit is left running."""

IN_A_THREAD = 256 * 1024
"""Bytes of output from which on it is prepared in a thread."""

ADOPT_SECONDS = 1.0
"""After this long without output it is looked whether a command has put another bash in the place of the shell."""

COUNT_SECONDS = 0.25
"""How often the processes of a command are counted, where there is a limit."""

STILL_RUNNING = -1
"""The exit code of a command that has not ended."""

_KEYS = {
    "UP": b"\x1b[A", "DOWN": b"\x1b[B", "RIGHT": b"\x1b[C", "LEFT": b"\x1b[D", "HOME": b"\x1b[H", "END": b"\x1b[F",
    "PGUP": b"\x1b[5~", "PGDN": b"\x1b[6~", "TAB": b"\t", "ESC": b"\x1b", "BS": b"\x7f", "ENTER": b"\n",
}  # fmt: skip

_C_C = b"\x03"

Status = Literal["completed", "no_change_timeout", "hard_timeout", "reset"]


class TerminalAction(msgspec.Struct, frozen=True):
    """Arguments of `terminal`."""

    command: Annotated[
        str,
        Meta(
            description="The bash command; may have several lines. Empty: wait for new output of the running command."
        ),
    ]
    is_input: Annotated[
        bool,
        Meta(
            description="Send `command` to the running command as input: text (a newline is added) or a key: C-c, C-d,"
            " UP, DOWN, LEFT, RIGHT, HOME, END, PGUP, PGDN, TAB, ESC, BS, ENTER."
        ),
    ] = False
    timeout: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="Seconds to wait at most; then it is left running. Default: until 30 s pass without output."),
    ] = None
    reset: Annotated[bool, Meta(description="Start a new shell first; all that the old one runs is ended.")] = False


class TerminalObservation(Observation, frozen=True, kw_only=True):
    """A command's output; `exit_code` is -1 while it runs, `seconds` how long this call waited."""

    exit_code: int
    working_dir: str
    status: Status
    seconds: float


class Terminal:
    """One shell a conversation, started by its first command."""

    def __init__(self, params: Params) -> None:
        self._place: Place | None = None
        self._shell: Shell | None = None
        self._context: ToolContext | None = None
        """That of the call that runs; what is printed between calls is shown by the next poll."""
        self._printed: Printed | None = None
        """What the command that was begun last prints."""
        self._unseen = False
        """Whether a command was left running whose end no call has shown."""
        most = params.get(PROCESSES)
        self._most = most if isinstance(most, int) else None
        self._counted = 0.0
        """When its processes were counted last."""
        limit = params.get("no_change_timeout")
        self._no_change = float(limit) if isinstance(limit, (int, float)) else NO_CHANGE_SECONDS

    async def __call__(self, action: TerminalAction, context: ToolContext) -> TerminalObservation:
        """Run, poll or feed a command. Raises `ToolError` for a call that does not fit what runs."""
        self._context = context
        try:
            return await self._call(action, context)
        finally:
            self._context = None

    async def at_work(self) -> bool:
        """Whether a command was left running, or a job in the background."""
        return self._shell is not None and await self._shell.at_work()

    async def _call(self, action: TerminalAction, context: ToolContext) -> TerminalObservation:
        begun = time.monotonic()
        if action.reset:
            await self._end_shell()
        shell = await self._started(action, context)
        if action.reset and not action.command:
            return TerminalObservation(exit_code=0, working_dir=shell.directory, status="reset", seconds=0.0)
        try:
            await self._give(shell, action, context)
            status = await self._wait(shell, action.timeout)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                self._unseen = False
                signals = await shell.interrupt()
                context.output(f"\n[ended with {', '.join(signals)}]")
                if shell.running or not shell.alive:
                    await self._end_shell()
            raise
        return await self._observation(shell, status, time.monotonic() - begun, context, polled=_polls(action))

    async def aclose(self) -> None:
        """End the shell and all that it started, and the place where it ran."""
        await self._end_shell()
        place, self._place = self._place, None
        if place is not None:
            with anyio.CancelScope(shield=True):
                await place.close()

    async def _end_shell(self) -> None:
        shell, self._shell, self._unseen = self._shell, None, False
        if shell is not None:
            with anyio.CancelScope(shield=True):
                await shell.close()

    async def _started(self, action: TerminalAction, context: ToolContext) -> Shell:
        if self._shell is not None and not self._shell.alive and not (self._unseen and _polls(action)):
            await self._end_shell()
        if self._shell is None:
            if self._place is None:
                self._place = place_of(context.workspace, context.start_soon, context.masked, context.conversation)
            shell = Shell(self._place.console(), Path(context.workspace.path))
            await shell.start()
            self._shell = shell
        return self._shell

    def _show(self, text: str) -> None:
        if self._context is not None and text:
            self._context.output(text)

    async def _give(self, shell: Shell, action: TerminalAction, context: ToolContext) -> None:
        if shell.running:
            if _polls(action):
                return
            if not action.is_input:
                raise ToolError(
                    "a command is still running in this terminal: wait with an empty command, send it input with"
                    " is_input (C-c stops it), or start a new shell with reset"
                )
            keys = _typed(action.command)
            await (shell.cut() if keys == _C_C else shell.send(keys))
            return
        if self._unseen and _polls(action):
            return
        if self._unseen and action.is_input:
            raise ToolError("the command has ended meanwhile: see the rest of its output with an empty command")
        if action.is_input or _polls(action):
            raise ToolError("no command is running in this terminal: send one")
        secrets = await context.secrets(action.command)
        self._printed = Printed(context.masking())
        decoder, plain = codecs.getincrementaldecoder("utf-8")("replace"), Unescaping()
        await shell.begin(action.command, lambda data: self._show(plain.feed(decoder.decode(data))), secrets)

    async def _wait(self, shell: Shell, timeout: float | None) -> Status:
        begun = shell.last_change = time.monotonic()
        looked = False
        while shell.running:
            quiet = time.monotonic() - shell.last_change
            left = self._no_change - quiet if timeout is None else timeout - (time.monotonic() - begun)
            if left <= 0:
                return "no_change_timeout" if timeout is None else "hard_timeout"
            if quiet >= ADOPT_SECONDS and not looked:
                looked = True
                await shell.adopt()
            left = left if looked else min(left, max(ADOPT_SECONDS - quiet, 0.01))
            await shell.wait(left if self._most is None else min(left, COUNT_SECONDS))
            await self._count(shell)
        return "completed"

    async def _count(self, shell: Shell) -> None:
        """See that there are not too many processes. Raises `ToolError` when there are; then they are ended, all."""
        if self._most is None or time.monotonic() - self._counted < COUNT_SECONDS:
            return
        self._counted = time.monotonic()
        if await shell.processes(self._most + 1) > self._most:
            await self._end_shell()
            raise ToolError(
                f"the commands of this terminal had more than {self._most} processes at once, which is what they may"
                f" have here ({PROCESSES}): the shell was ended, with all that it ran"
            )

    async def _new(self, shell: Shell) -> str:
        """What the command has printed since the last call; much of it takes a while, and a thread."""
        data, printed = shell.take(), self._printed
        assert printed is not None
        more = partial(printed.more, data, last=not shell.running)
        return (more() if len(data) < IN_A_THREAD else await anyio.to_thread.run_sync(more)).rstrip("\n")

    async def _observation(
        self, shell: Shell, status: Status, seconds: float, context: ToolContext, *, polled: bool
    ) -> TerminalObservation:
        self._unseen = shell.running
        ended = await shell.wait(0) if not shell.running else None
        exit_code = STILL_RUNNING if shell.running else (ended.exit_code if ended else 1)
        shown = await self._new(shell)
        content: list[Content] = [TextContent(clip(shown, MAX_OUTPUT))]
        if len(shown) > MAX_OUTPUT:
            content.append(await context.keep(shown.encode(), "full output"))
            if (path := await context.spill(shown)) is not None:
                content.append(TextContent(whole_in(path, shown)))
        content.append(TextContent(_footer(shell, exit_code, status, seconds, nothing=not shown)))
        return TerminalObservation(
            content=tuple(content),
            is_error=exit_code not in (0, STILL_RUNNING),
            still_running=polled and exit_code == STILL_RUNNING,
            exit_code=exit_code,
            working_dir=shell.directory,
            status=status,
            seconds=round(seconds, 3),
        )


def _polls(action: TerminalAction) -> bool:
    """Whether it only waits: an empty command does, said to be input or not; ENTER is a key."""
    return not action.command or not (action.is_input or action.command.strip())


def _footer(shell: Shell, exit_code: int, status: Status, seconds: float, *, nothing: bool) -> str:
    if not shell.alive:
        return f"[the shell ended with exit code {exit_code}; the next command starts a new one in the workspace]"
    if status == "completed":
        return f"[exit code {exit_code}, in {shell.directory}]"
    quiet = "nothing new; " if nothing else ""
    return (
        f"[{quiet}still running after {seconds:.0f} s. Send an empty command to wait on, is_input with C-c to stop it,"
        " or other input]"
    )


def _typed(keys: str) -> bytes:
    if keys in _KEYS:
        return _KEYS[keys]
    if len(keys) == 3 and keys[:2].upper() == "C-" and keys[2].isalpha():
        return bytes([ord(keys[2].upper()) - 64])
    return keys.encode() + (b"" if keys.endswith("\n") else b"\n")


def _runs(action: TerminalAction, workspace: Workspace) -> Effects:
    return Effects(runs=(Source(action.command, typed=action.is_input),))


_ALIASES = (
    "bash", "shell", "sh", "cmd", "command", "execute", "execute_bash", "execute_command", "run", "run_command",
    "run_bash", "bash_tool", "run_terminal_cmd", "shell_command", "run_shell_command",
)  # fmt: skip

terminal = ToolType(
    name="terminal",
    description=(
        "Run a command in a bash that lasts: its directory, variables and background jobs stay from call to call."
        " Output is cut in the middle beyond 30000 characters; the result names a file that has all of it. A command"
        " that prints nothing for 30 s, or reaches its `timeout`, is left running (exit code -1): wait for it with an"
        " empty command, send it input with `is_input`; each result has only what is new since the one before."
        " Start servers in the background with `&` and their output in a file. Do not use editors or pagers."
    ),
    action=TerminalAction,
    executor=Terminal,
    annotations=ToolAnnotations(title="Terminal"),
    on_crash=OnCrash.ASK,
    holds_resource=True,
    effects=_runs,
    same=Same("command", {"is_input": True}),
    headline=("$ {command}", "(waits for more output){command:empty}"),
    aliases=_ALIASES,
    shell="command",
)
