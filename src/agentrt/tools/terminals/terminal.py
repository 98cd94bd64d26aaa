"""`terminal`: persistent shells."""

from __future__ import annotations

import re
import time
from typing import Annotated

import anyio
import anyio.to_thread
import msgspec
from msgspec import Meta

from ...decisions import ANY_FILE
from ...errors import ConfigurationError, ToolError
from ...protocols import Observation, ToolContext
from ...secrets import HIDDEN
from ...specs import OnCrash, Same, TextContent, ToolAnnotations, WorkspaceSpec
from ...specs.effects import Effects, Source
from ...specs.quota import PROCESSES
from ..definition import Params, ToolType
from ..shortened import shortened
from .patching import typed_patch
from .screen import COLUMNS
from .session import Given, Session, Status

MAX_OUTPUT = 30_000
"""Characters of output that the model sees of one call; the whole is kept as a blob, and in a file that it can read."""

NO_CHANGE_SECONDS = 30.0
"""Seconds without output after which a command without a timeout is left running."""

STILL_RUNNING = -1
"""The exit code of a command that has not ended."""

SESSIONS = 8
"""Maximum number of shells of a terminal."""

CUT = 6
"""If at least so many characters at the end of a full screen line may begin a secret, they are hidden."""

MAIN = "main"
"""Session of a call that names none."""

UNCONFINED = "unconfined"
"""The argument by which a command leaves what confines the others, and the name of its session in the result."""

UNCONFINED_SECONDS = 600.0
"""Seconds after which such a command is ended, if it has no timeout."""

MADE_AGAIN = "the workspace was gone: it was made again, and is empty"
"""The note to the model if the workspace was made again for a new shell."""

_NAME = re.compile(r"[\w.-]{1,40}", re.ASCII)


class TerminalAction(msgspec.Struct, frozen=True):
    """Arguments of `terminal`."""

    command: Annotated[
        str,
        Meta(description="The bash command, also of several lines. Empty: wait for output of the running one."),
    ]
    is_input: Annotated[
        bool,
        Meta(
            description="Type `command` into the running one: text (a newline is added) or a key: C-c, C-d, UP, DOWN,"
            " LEFT, RIGHT, HOME, END, PGUP, PGDN, TAB, ESC, BS, ENTER. With a screen no newline is added, and keys"
            " stand in the text: `:wq<Enter>`, `<C-x>`, `<F1>`; `<LT>` is `<`."
        ),
    ] = False
    timeout: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="Seconds to wait at most. Default: until 30 s pass without output."),
    ] = None
    reset: Annotated[bool, Meta(description="Start a new shell first; all that the old one runs is ended.")] = False
    session: Annotated[str, Meta(description="A shell of its own by any name. Default: the main one.")] = ""
    screen: Annotated[
        bool,
        Meta(description="Run it on a screen, for programs that fill one (vim, less, top), and show that."),
    ] = False
    unconfined: Annotated[
        bool,
        Meta(description="Run it as the person would, in a fresh shell, if it cannot run confined: they are asked."),
    ] = False
    reason: Annotated[str, Meta(description="Why unconfined.")] = ""


class TerminalObservation(Observation, frozen=True, kw_only=True):
    """A command's output; `exit_code` is -1 while it runs, `seconds` how long this call waited.

    `cursor` is the row and the column of the cursor, from 1, while a command with a screen runs.
    """

    exit_code: int
    working_dir: str
    status: Status
    seconds: float
    session: str = MAIN
    cursor: tuple[int, int] | None = None


class Terminal:
    """The shells of a conversation, by session name. Each starts with its first command."""

    def __init__(self, params: Params) -> None:
        self._sessions: dict[str, Session] = {}
        self._called = set[str]()
        """Sessions that a call is using now. They may have no shell yet."""
        most, limit = params.get(PROCESSES), params.get("no_change_timeout")
        self._most = most if isinstance(most, int) else None
        self._no_change = float(limit) if isinstance(limit, (int, float)) else NO_CHANGE_SECONDS
        late = params.get("on_timeout", "leave")
        if late not in ("leave", "kill"):
            raise ConfigurationError(f"Tool('terminal', {{'on_timeout': {late!r}}}): expected 'leave' or 'kill'")
        self._ends_late = late == "kill"

    async def __call__(self, action: TerminalAction, context: ToolContext) -> TerminalObservation:
        """Run, poll or feed a command. Raises `ToolError` for a call that does not fit, such as a second command."""
        if action.unconfined:
            return await self._unconfined(action, context)
        begun, name = time.monotonic(), action.session or MAIN
        session = self._session(name, context)
        if not action.is_input and (patch := typed_patch(action.command)) is not None:
            return await _patched(patch, session, name, context)
        self._called.add(name)
        try:
            if action.reset:
                await session.end()
            given = Given(action.command, action.is_input, action.timeout, action.screen)
            if action.reset and not action.command:
                directory = (await session.started(False, context)).directory
                said = (TextContent(f"[{MADE_AGAIN}]"),) if session.made_again else ()
                return TerminalObservation(
                    content=said, exit_code=0, working_dir=directory, status="reset", seconds=0.0, session=name
                )
            status = await session.call(given, context)
        finally:
            self._called.discard(name)
        seconds = time.monotonic() - begun
        return await _observation(session, name, status, seconds, context, polled=given.polls)

    async def _unconfined(self, action: TerminalAction, context: ToolContext) -> TerminalObservation:
        """Run one command in a fresh shell outside of what confines the others. Raises `ToolError`."""
        if action.is_input or action.screen or action.reset or action.session or not action.command.strip():
            raise ToolError("`unconfined` goes with one `command`, its `reason` and a `timeout` alone")
        if not action.reason.strip():
            raise ToolError("`unconfined` needs a `reason`: say why the command has to run outside")
        begun, limit = time.monotonic(), UNCONFINED_SECONDS if action.timeout is None else action.timeout
        session = Session(context.place.outside, limit, self._most, self._processes, ends_late=True)
        try:
            status = await session.call(Given(action.command, timeout=limit), context)
            return await _observation(session, UNCONFINED, status, time.monotonic() - begun, context, polled=False)
        finally:
            with anyio.CancelScope(shield=True):
                await session.end()

    def lost(self, action: TerminalAction) -> bool:
        """Return whether the shell of the session has ended. A call that starts a new one by itself loses nothing."""
        if action.unconfined:
            return False
        session = self._sessions.get(action.session or MAIN)
        polls = Given(action.command, action.is_input).polls
        return session is not None and not action.reset and session.lost(polls)

    async def at_work(self) -> bool:
        """Return whether a command or a background job is running in any session."""
        return any([await session.at_work() for session in self._sessions.values()])

    async def aclose(self) -> None:
        """End the shells and all that they started."""
        async with anyio.create_task_group() as ending:
            for session in self._sessions.values():
                ending.start_soon(session.end)
        self._sessions.clear()

    def _session(self, name: str, context: ToolContext) -> Session:
        """Return the session of that name, or a new one. Raises `ToolError` for a bad name, or one session too many."""
        if (session := self._sessions.get(name)) is not None:
            return session
        if not _NAME.fullmatch(name):
            raise ToolError(f"{name!r} cannot be the name of a session: give it letters, digits, '_', '.' and '-'")
        kept = {MAIN, *self._called}
        self._sessions = {each: one for each, one in self._sessions.items() if one.alive or each in kept}
        if len(self._sessions) >= SESSIONS:
            there = ", ".join(sorted(self._sessions))
            raise ToolError(f"the limit is {SESSIONS} sessions: {there}. Use one of them, or end one with exit")
        self._sessions[name] = Session(
            context.place, self._no_change, self._most, self._processes, ends_late=self._ends_late
        )
        return self._sessions[name]

    async def _processes(self, most: int) -> int:
        found = 0
        for session in list(self._sessions.values()):
            found += await session.processes(most - found)
            if found >= most:
                break
        return found


async def _patched(patch: str, session: Session, name: str, context: ToolContext) -> TerminalObservation:
    """Apply a patch that was typed as a command. Raises `ToolError` if it cannot be applied."""
    from ..patch.apply_patch import applied  # needed by few

    begun, root = time.monotonic(), context.workspace.path
    directory = session.shell.directory if session.alive else root
    if directory != root:
        raise ToolError(
            f"apply_patch is no program: here it takes paths from the workspace, and the shell is in {directory}. Go"
            f" back with 'cd {root}' first, or call the tool apply_patch if you have it"
        )
    done = await anyio.to_thread.run_sync(applied, patch, context)
    return TerminalObservation(
        content=done.content,
        exit_code=0,
        working_dir=directory,
        status="completed",
        seconds=time.monotonic() - begun,
        session=name,
    )


async def _observation(
    session: Session, name: str, status: Status, seconds: float, context: ToolContext, *, polled: bool
) -> TerminalObservation:
    shell = session.shell
    ended = await shell.wait(0) if not shell.running else None
    exit_code = STILL_RUNNING if shell.running else (ended.exit_code if ended else 1)
    shown, cursor = await session.new(), None
    if session.screen is not None:
        shown = _on_screen(session, shown, context)
        cursor = session.screen.cursor if shell.running else None
    content = await shortened(shown, MAX_OUTPUT, "full output", context)
    if session.made_again:
        content.append(TextContent(f"[{MADE_AGAIN}]"))
    content.append(TextContent(_footer(session, exit_code, status, seconds, nothing=not shown, cursor=cursor)))
    return TerminalObservation(
        content=tuple(content),
        is_error=exit_code not in (0, STILL_RUNNING),
        still_running=polled and exit_code == STILL_RUNNING,
        exit_code=exit_code,
        working_dir=shell.directory,
        status=status,
        seconds=round(seconds, 3),
        session=name,
        cursor=cursor,
    )


def _on_screen(session: Session, shown: str, context: ToolContext) -> str:
    """Return what a screen shows, without secrets, including those that continue in the next line."""
    assert session.screen is not None
    wrapped, seen = session.screen.wrapped, context.masked(shown, by_line=True)
    if seen == shown and context.masked(wrapped) != wrapped:
        return "[the screen shows a secret over the end of a line: it is not shown]"
    lines, cut = seen.split("\n"), False
    for at, line in enumerate(lines):
        if cut:
            lines[at], cut = HIDDEN, False
            continue
        shown_of = context.masking().feed(line) if len(line) >= COLUMNS else line
        if line.startswith(shown_of) and len(line) - len(shown_of) >= CUT:
            lines[at], cut = f"{shown_of}{HIDDEN}", True
    return "\n".join(lines)


def _footer(
    session: Session, exit_code: int, status: Status, seconds: float, *, nothing: bool, cursor: tuple[int, int] | None
) -> str:
    shell = session.shell
    if not shell.alive:
        return f"[the shell ended with exit code {exit_code}; the next command starts a new one in the workspace]"
    if status == "completed":
        return f"[exit code {exit_code}, in {shell.directory}]"
    if not shell.running:
        return f"[ended after {seconds:.0f} s, at its time limit, with exit code {exit_code}, in {shell.directory}]"
    if cursor is not None:
        return (
            f"[the screen; the cursor is at row {cursor[0]}, column {cursor[1]}. Type with is_input, look again with an"
            " empty command]"
        )
    quiet = "nothing new; " if nothing else ""
    return (
        f"[{quiet}still running after {seconds:.0f} s. Send an empty command to wait on, is_input with C-c to stop it,"
        " or other input]"
    )


def _touches(action: TerminalAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return (f"terminal:{UNCONFINED if action.unconfined else action.session or MAIN}", ANY_FILE)


def _runs(action: TerminalAction, workspace: WorkspaceSpec) -> Effects:
    if not (action.is_input or action.unconfined) and (patch := typed_patch(action.command)) is not None:
        from ..patch.apply_patch import effects_of  # needed by few

        return effects_of(patch, workspace)
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
        " that prints nothing for 30 s, or reaches its `timeout`, is left running (exit code -1)."
        " Start servers in the background with `&` and their output in a file."
    ),
    action=TerminalAction,
    executor=Terminal,
    annotations=ToolAnnotations(title="Terminal"),
    on_crash=OnCrash.ASK,
    holds_resource=True,
    resources=_touches,
    effects=_runs,
    same=Same("command", {"is_input": True}),
    headline=(
        "$ {command}  (unconfined: {reason}){unconfined:true}",
        "$ {command}",
        "(waits for more output){command:empty}",
    ),
    aliases=_ALIASES,
    shell="command",
    leaves=UNCONFINED,
)
