"""`FileKeeper`: keeps the files of a workspace as they are before and after calls that may change them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Literal, TypeAlias

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from ..decisions.file_history import FileHistory, Kept, file_history
from ..decisions.outcomes import DIED
from ..errors import ActorError, LogError, WorkspaceError
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    Event,
    ExecutionLost,
    FilesRestored,
    MessageEvent,
    WorkspaceSnapshot,
)
from ..specs.content import text
from ..workspaces.going_back import going_back
from ..workspaces.trees import Kept as Tree
from ..workspaces.trees import Trees
from .event_log import Log
from .patience import Patience

_LASTING = frozenset({"too-many-files"})
"""Codes of permanent errors."""

MOST_LEFT = 1000
"""Maximum number of paths in each list of an event."""

MOST_STEPS = 100
"""Maximum number of steps of the agent in an event."""

MOST_TOLD = 20
"""Maximum number of paths in each list that the model is told."""

Paths: TypeAlias = Sequence[str] | None

_LATE = "a call ran already when they were kept as they were before it, and what it had done by then stays"


class Acting(msgspec.Struct, frozen=True):
    """The calls that have acted since the files were last kept: the seqs of their events, and the paths that they say
    they write (None if one of them does not say).
    """

    calls: tuple[int, ...] = ()
    writes: tuple[str, ...] | None = ()

    def more(self, call: int, writes: tuple[str, ...] | None) -> Acting:
        """Return these calls and another one."""
        both = None if self.writes is None or writes is None else tuple(sorted({*self.writes, *writes}))
        return Acting((*self.calls, call), both)


class FileKeeper:
    """Keeps the files of one conversation. A tree that is the same as the last one is not logged again."""

    def __init__(self, log: Log, tasks: TaskGroup, trees: Trees, patience: Patience = Patience()) -> None:
        self._log, self._tasks, self.trees, self._patience = log, tasks, trees, patience
        self._kept = anyio.Event()
        """Set once the first tree is there, or cannot be made."""
        self._first_logged = anyio.Event()
        self._begun = self._off = self._failed = self._looked = False
        self._last = ""
        self._batch = ""
        """The id of the model's reply whose calls run, or ran last."""
        self._before = anyio.Event()
        """Set once the files were kept as they were before these calls, or the wait for that is over."""
        self._at_work = self._running = 0
        self._acts = self._due = False
        """`_acts`: whether a call of this process has begun to act; changes before that were made by others. `_due`:
        whether the files are still to be kept as the last calls left them."""
        self._acting = Acting()
        self._since = 0
        """When the first of the calls in `_acting` began, in nanoseconds (`time.time_ns`)."""
        self._turn = anyio.Lock()

    @property
    def on(self) -> bool:
        """Whether files are kept."""
        return not self._off and self._log.state.spec.checkpoints

    def begin(self) -> None:
        """Make the first tree in the background, once, if the agent has a tool that may change files."""
        if not self._begun and self.on and any(tool.may_write for tool in self._log.state.tools):
            self._begun = True
            self._tasks.start_soon(self._first)

    @asynccontextmanager
    async def around(
        self, action: ActionEvent, told: list[Event], writes: Sequence[str] | None = None
    ) -> AsyncIterator[None]:
        """Keep the files before the first call of a reply runs and after the last one. The body runs the call.

        `writes` are the only files that the call writes; None if it does not say. `told` gets the event of the files
        after it, which the caller logs together with the call's result; if that takes too long, it is logged here.
        """
        self._at_work += 1
        try:
            own = None
            if self.on:
                if writes is not None:
                    own = await anyio.to_thread.run_sync(self.trees.own, writes)
                await self._keep_before(action.llm_response_id or action.id)
            self._acts = self._due = True
            self._since = self._since if self._acting.calls else time.time_ns()
            self._acting = self._acting.more(action.seq, own)
            self._running += 1
            try:
                yield
            finally:
                self._running -= 1
        finally:
            self._at_work -= 1
            if not self._at_work and self.on:
                if self._is_unchanged():
                    self._acting, self._due = Acting(), False
                else:
                    await self._keep_after(told)

    async def settle(self) -> None:
        """Keep the files if that is due, because the conversation is closed."""
        if self._due and self.on and not self._at_work:
            await self.keep("after")

    async def aclose(self) -> None:
        """Begin nothing more, and watch the workspace no longer."""
        self._off = True
        with anyio.CancelScope(shield=True):
            await self.trees.aclose()

    async def begun(self) -> None:
        """Return once the first tree, if it is being made, is there and logged."""
        if self._begun and self.on:
            await self._first_logged.wait()

    async def ready(self) -> None:
        """Return when no files are being restored."""
        if self._log.state.ledger.restoring:
            async with self._turn:
                return

    async def history(self) -> FileHistory:
        """Return the history of the files, as far as they were kept. Raise `LogCorrupt`."""
        return file_history([event async for event in self._log.events(0) if isinstance(event, Kept)])

    async def check(self, to: int) -> None:
        """Raise `WorkspaceError` if the files as they were after event `to` were not kept."""
        if not self._log.state.spec.checkpoints:
            raise WorkspaceError("no-checkpoint", "this agent was begun with checkpoints=False")
        if (await self._kept_history()).at(to) is None:
            raise WorkspaceError("no-checkpoint", f"there are none at or after event {to}: rewind without them")

    async def restore(self) -> None:
        """Restore the files as the last rewind asked, and log the result; do nothing if that was done.

        Files that people have changed since stay as they are. A cancelled caller does not stop this. It raises nothing:
        errors stand in the event.
        """
        with anyio.CancelScope(shield=True):
            async with self._turn:
                if to := self._log.state.ledger.restoring:
                    restored = await self._restored(to)
                    self._last = restored.tree
                    await self._append(restored, *_told(restored))

    async def restore_copy(self, copy: str, at: int) -> None:
        """Restore the files of a copy of the workspace as they were after event `at`. Raise `WorkspaceError`."""
        if (moment := (await self._kept_history()).at(at)) is None:
            raise WorkspaceError("no-checkpoint", f"there are none at or after event {at}")
        if moment.late:
            raise WorkspaceError("no-checkpoint", _LATE)
        await self.trees.restore_copy(copy, moment.tree)

    async def _kept_history(self) -> FileHistory:
        """Return the history of the files. If none were kept, because nothing was to change them, keep them now."""
        await self.begun()
        history = await self.history()
        if not history.moments and self.on:
            with anyio.CancelScope(shield=True):
                await self.keep("before")
            history = await self.history()
        return history

    async def _restored(self, to: int) -> FilesRestored:
        try:
            at, now = self._log.state.seq, await self.trees.keep(whole=True)
            self._kept.set()
            await self._append(*self._noted(now, at, "after" if self._due else "before"))
            history = await self.history()
            if (target := history.at(to)) is None:
                raise WorkspaceError("no-checkpoint", f"there are none at or after event {to}")
            moments = history.since(to)
            pairs = [(one.tree, other.tree) for one, other in pairwise(moments)]
            back = going_back(moments[1:], await self.trees.steps(pairs))
            done = await self.trees.restore(target.tree, back.theirs, [moment.tree for moment in moments])
            tree = (await self.trees.keep(whole=True)).tree
        except (WorkspaceError, LogError) as error:
            return FilesRestored(to=to, error=str(error))
        unknown = sorted(back.unknown.intersection(done.left).union(done.unknown))
        return FilesRestored(
            to=to,
            tree=tree,
            before=done.before,
            files=len(done.done),
            restored=done.done[:MOST_LEFT],
            left=done.left[:MOST_LEFT],
            left_count=len(done.left),
            unknown=tuple(unknown[:MOST_LEFT]),
            unknown_count=len(unknown),
            during=back.told(done.done)[-MOST_STEPS:],
            error=_LATE if target.late else "",
        )

    async def keep(
        self, when: Literal["before", "after"], late: Callable[[], bool] = lambda: False, paths: Paths = None
    ) -> None:
        """Keep the files as they are, and log it. Raises nothing.

        A tree before a call is marked late if by then `late` holds or another call runs, unless nothing has changed.
        `paths` are the only ones that can have changed, as far as that matters here; None: any.
        """
        await self._append(*await self._keep(when, late, paths))

    async def _keep(self, when: Literal["before", "after"], late: Callable[[], bool], paths: Paths) -> Sequence[Event]:
        """Keep the files as they are. Return what is to be logged."""
        async with self._turn:
            if not self.on or (when == "after" and self._at_work):
                return ()
            at, begun = self._log.state.seq, self._running > 0
            try:
                if await self._resumed():
                    when = "after"
                kept = await self.trees.keep(paths)
            except WorkspaceError as error:
                return self._failure(error, at, when)
            finally:
                self._kept.set()
            self._failed = False
            beside = when == "before" and (begun or late())
            return self._noted(kept, at, when, late=beside and await self.trees.changed_since(self._since))

    async def _resumed(self) -> bool:
        """Return whether a call that an earlier process began may have changed files since the last tree.

        Only the first call of this looks.
        """
        if self._looked:
            return False
        self._looked, cut, writing = True, set[int](), dict[str, int]()
        async for event in self._log.events(0):
            match event:
                case WorkspaceSnapshot() | FilesRestored():
                    self._last = event.tree
                    cut.clear()
                case ActionEvent() if self._log.state.definition(event.tool_name).may_write:
                    writing[event.id] = event.seq
                case ExecutionLost(action_id=lost) if lost in writing:
                    cut.add(writing[lost])
                case AgentErrorEvent(action_id=failed, error=error) if failed in writing and error.startswith(DIED):
                    cut.add(writing[failed])
        if not cut or self._acts:
            return False
        self._acting = Acting(tuple(sorted(cut)), None)
        return True

    def _failure(self, error: WorkspaceError, at: int, when: Literal["before", "after"]) -> Sequence[Event]:
        """Note that files are not kept, permanently or until they can be kept again."""
        self._off = error.code in _LASTING
        if self._failed:
            return ()
        self._failed, self._last = True, ""
        return (WorkspaceSnapshot(at=at, when=when, off=str(error)),)

    def _noted(self, kept: Tree, at: int, when: Literal["before", "after"], *, late: bool = False) -> Sequence[Event]:
        acted = self._acting if when == "after" else Acting()
        if not late:
            self._acting = Acting()
        if when == "after":
            self._due = False
        if kept.tree == self._last:
            return ()
        self._last = kept.tree
        return (
            WorkspaceSnapshot(
                at=at,
                when=when,
                tree=kept.tree,
                left_out=kept.left_out,
                calls=acted.calls,
                writes=acted.writes if acted.calls else None,
                late=late,
            ),
        )

    async def _append(self, *events: Event) -> None:
        try:
            if events:
                await self._log.append(*events)
        except (ActorError, LogError):
            return  # the conversation ends, and says so itself

    async def _first(self) -> None:
        try:
            await self.keep("before", lambda: self._acts)
        finally:
            self._first_logged.set()

    async def _keep_after(self, told: list[Event]) -> None:
        kept, waits, writes = anyio.Event(), True, self._acting.writes

        async def keep() -> None:
            events = await self._keep("after", lambda: False, writes)
            if waits:
                told.extend(events)
            else:
                await self._append(*events)
            kept.set()

        self._tasks.start_soon(keep)
        try:
            with anyio.move_on_after(self._patience.after):
                await kept.wait()
        finally:
            waits = False

    def _is_unchanged(self) -> bool:
        """Return whether the files are as they were kept last, as far as can be told at once."""
        return self._looked and not self._failed and not self._turn.locked() and self.trees.is_still(self._last)

    async def _keep_before(self, batch: str) -> None:
        if batch == self._batch:
            await self._before.wait()
            return
        self._batch, self._before = batch, anyio.Event()
        try:
            if not self._running and self._is_unchanged():
                self._acting = Acting()
                return
            if self._kept.is_set():
                await self._keep_in_time()
            else:
                self.begin()
                with anyio.move_on_after(self._patience.first):
                    await self._kept.wait()
        finally:
            self._before.set()

    async def _keep_in_time(self) -> None:
        kept = anyio.Event()

        async def keep() -> None:
            await self.keep("before", lambda: not waits)
            kept.set()

        waits = True
        self._tasks.start_soon(keep)
        with anyio.move_on_after(self._patience.before):
            await kept.wait()
        waits = False


def _told(restored: FilesRestored) -> tuple[MessageEvent, ...]:
    """Return what the model is told of files that are not as it saw them last."""
    unknown = set(restored.unknown)
    theirs = [path for path in restored.left if path not in unknown]
    told = list[str]()
    if restored.error:
        told.append(f"[The files could not all be taken back: {restored.error}]")
    if theirs:
        named = _named(theirs, restored.left_count - restored.unknown_count)
        told.append(f"[Somebody else has changed files since you saw them: {named}.]")
    if unknown:
        named = _named(restored.unknown, restored.unknown_count)
        told.append(f"[Files that stay, since it is not known what they were or who made them: {named}.]")
    return (MessageEvent(content=text("\n".join(told))),) if told else ()


def _named(paths: Sequence[str], count: int) -> str:
    more = f" and {count - MOST_TOLD:,} more" if count > MOST_TOLD else ""
    return f"{', '.join(paths[:MOST_TOLD])}{more}"
