"""`ToolActor`: runs the calls of one tool."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar
from zlib import crc32

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from ..cancelling import guarded
from ..context.replies import BadCall
from ..decisions import ExecuteAction, action_error
from ..errors import ToolError
from ..events import ActionEvent, ActionRevised, Event, InputGiven, InputRequested, ObservationEvent
from ..ids import new_id
from ..protocols import ModelClient, Observation, Watchful
from ..sandboxes.processes import process_mark
from ..secrets import HIDDEN, CurrentMask, SecretRegistry, StreamMask
from ..specs import BlobReference, Workspace, content
from ..specs.content import TEXT
from ..specs.flow import Label
from ..specs.policies import NeverConfirm
from ..storing import Shelf
from ..tools.clipping import clip
from ..tools.definition import Tools
from ..workspaces.reached import ReachedFiles
from ..workspaces.spills import Spills
from .core import Request
from .core.leases import Lease, Leases, Opened
from .dispatcher import Perform
from .event_log import Log
from .file_keeper import FileKeeper
from .recollection import Earlier, Recollection
from .results import MAX_RESULT, bounded
from .scripts import changed
from .side_calls import SideCalls
from .tool_models import Saved, ToolModels

T = TypeVar("T")

TAIL = 64
"""Pieces of output kept for the model in case a call is cut."""

_NOTHING = msgspec.Raw(b"null")
_logger = logging.getLogger(__name__)
_COMMON_FIELDS = frozenset(Observation.__struct_fields__)


_MARKED = (
    f"{HIDDEN} stands for a secret that you are not shown, so nothing was done: leave that part as it is, or name the"
    " secret in a command, as $NAME"
)


MOST_LOOKS = 3
"""How often a call is rated again since a file that it runs has changed."""

_CHANGED = "not run: {} changes again and again while this call is looked at. Stop what writes it, and call again"


class AtWork(Request[bool], frozen=True):
    """Whether the tool has something at work between two calls."""


class ToolParts(Protocol):
    """What a tool actor uses of a conversation's parts."""

    @property
    def tools(self) -> Tools: ...

    @property
    def secrets(self) -> SecretRegistry: ...

    @property
    def retired(self) -> Callable[[str], Event | None]: ...

    @property
    def store(self) -> str: ...

    @property
    def earlier(self) -> Earlier | None: ...

    @property
    def home(self) -> Path | None: ...

    @property
    def shelf(self) -> Shelf | None: ...

    @property
    def client(self) -> ModelClient: ...

    @property
    def saved(self) -> Saved: ...

    @property
    def leases(self) -> Leases | None: ...


class _Place:
    """What all calls of a tool have in common."""

    def __init__(self, log: Log, parts: ToolParts, tool: str, workspace: Workspace) -> None:
        created = log.state.created
        self.workspace, self.files = workspace, ReachedFiles(workspace)
        self.conversation = process_mark(created.id, parts.store) if created is not None else ""
        self.recollection = Recollection(log, workspace, parts.earlier, parts.home, parts.shelf)
        self.spills = Spills(workspace, tool)
        self._leases, self._created = parts.leases, created

    async def lease(self, kind: str, opened: Opened[T], *, tree: bool) -> Lease[T]:
        """A share of what the tools of the conversation, or of its tree, have in common. Raises `ToolError`."""
        if self._leases is None or self._created is None:
            raise ToolError("nothing can be opened here")
        above = self._created.delegated_by
        name = self._leases.root(self._created.id, above) if tree else self._created.id
        return await self._leases.lease(f"{kind} {name}", opened)


class _Call:
    """The `ToolContext` of one call: shows its output, and keeps the last of it."""

    def __init__(
        self,
        log: Log,
        place: _Place,
        tool: str,
        command: str,
        action: str,
        parts: ToolParts,
        tasks: TaskGroup,
        calls: SideCalls,
    ) -> None:
        self.models = ToolModels(log, parts.client, calls, parts.saved, parts.secrets, action)
        self._tool, self._command, self._secrets, self._retired = tool, command, parts.secrets, parts.retired
        self._action = action
        self.observation_id = new_id()
        self.workspace, self.files = place.workspace, place.files
        self.conversation, self.recollection = place.conversation, place.recollection
        self._log, self._tasks, self._spills, self._place = log, tasks, place.spills, place
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._masked = StreamMask(parts.secrets.mask)

    async def previous(self) -> msgspec.Raw | None:
        last = await self._log.newest(lambda seen: seen.type == "ObservationEvent" and seen.tool_name == self._tool)
        return last.details if isinstance(last, ObservationEvent) else None

    async def ask(
        self, message: str, schema: Mapping[str, Any] | None = None, url: str = "", asks: str = ""
    ) -> InputGiven | None:
        state = self._log.state
        if state.created is None or state.created.delegated_by is not None:
            return None
        if isinstance(state.spec.confirmation, NeverConfirm):
            return None
        form = msgspec.Raw(msgspec.json.encode(schema or {}))
        request = InputRequested(
            action_id=self._action, message=message, schema=form, url=url, asks=asks, caused_by=self._action
        )
        begun = await self._log.append(request)
        state = await self._log.wait_for(lambda state: all(one.id != request.id for one in state.branch.inputs))
        async for event in self._log.events(begun.seq):
            if isinstance(event, InputGiven) and event.request_id == request.id:
                return event
        raise ToolError("nobody waits for the answer any more")

    def output(self, text: str) -> None:
        self._here(partial(self._show, text))

    def _show(self, text: str) -> None:
        self._masked.mask = self._secrets.mask
        self._tail.append(self._masked.feed(text))  # masked before it is cut: half a secret is one too
        self._log.show(self.observation_id, "output", text, self._command)

    def start_soon(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._here(lambda: self._tasks.start_soon(function) and None)

    def _here(self, done: Callable[[], None]) -> None:
        """Do something on the event loop; a function that blocks asks for it in a thread of its own."""
        if threading.get_ident() == self._thread:
            done()
        else:
            self._loop.call_soon_threadsafe(done)

    async def lease(self, kind: str, opened: Opened[T], *, tree: bool = False) -> Lease[T]:
        return await self._place.lease(kind, opened, tree=tree)

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        return await self._log.keep(data, name, media_type)

    async def spill(self, text: str) -> str | None:
        return await self._spills.keep(text)

    async def secrets(self, text: str) -> Mapping[str, str]:
        values = await self._secrets.named_in(text)
        created = self._log.state.created
        if created is not None and (event := self._retired(created.conversation_id)) is not None:
            await self._log.append(event)
        return values

    def masked(self, text: str, *, by_line: bool = False) -> str:
        return self._secrets.mask.text(text, by_line=by_line)

    def masking(self) -> CurrentMask:
        return CurrentMask(lambda: self._secrets.mask)

    def so_far(self) -> str:
        shown = "".join(self._tail).strip()
        return f" Its last output was:\n{shown[-2000:]}" if shown else ""


class ToolActor(AbstractAsyncContextManager["ToolActor"]):
    """Performs `ExecuteAction` for one tool; the executor is opened with the actor and closed with it."""

    def __init__(
        self,
        log: Log,
        parts: ToolParts,
        name: str,
        workspace: Workspace,
        calls: SideCalls,
        keeper: FileKeeper | None = None,
    ) -> None:
        self._keeper = keeper
        self._log, self._parts, self._name, self._workspace, self._calls = log, parts, name, workspace, calls
        self._tools, self._secrets = parts.tools, parts.secrets
        with guarded:
            self._executor = self._tools.executor(name)
        self._place = _Place(log, parts, name, workspace)
        self._tasks = anyio.create_task_group()
        """What the executor runs beside its calls."""

    async def __aenter__(self) -> ToolActor:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            try:
                with guarded:
                    await self._executor.aclose()
            except Exception:  # of a tool that was not written here: what it did stands in the log
                _logger.exception("tool %r failed to close", self._name)
            await self._place.spills.close()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def handle(self, message: Perform | AtWork) -> bool | None:
        """Run one call, whose outcome is an observation or an error that the model can act on; or say whether something
        is at work.
        """
        if isinstance(message, AtWork):
            return isinstance(self._executor, Watchful) and await self._executor.at_work()
        assert isinstance(message.command, ExecuteAction)
        command, action = message.command.id, message.command.action
        call, begun = self._call(command, action.id), time.monotonic()
        try:
            async with self._kept(action):
                outcome = await self._looked_at_again(message.command) or await self._run(action, call)
        except anyio.get_cancelled_exc_class():
            seconds = time.monotonic() - begun
            with anyio.CancelScope(shield=True):
                cut = action_error(action, f"Interrupted after {seconds:.1f} s.{call.so_far()}")
                await self._log.append(cut, command=command)
            raise
        else:
            await self._log.append(outcome, command=command)
        return None

    def _writes_mark(self, action: ActionEvent) -> bool:
        """Whether a call would act on what stands for a secret, where there are secrets that it may stand for."""
        tool = self._tools.annotations(action.tool_name)
        return bool(self._secrets.mask) and HIDDEN.encode() in bytes(action.arguments) and not tool.read_only

    def _call(self, command: str, action: str) -> _Call:
        return _Call(self._log, self._place, self._name, command, action, self._parts, self._tasks, self._calls)

    async def _looked_at_again(self, command: ExecuteAction) -> Event | None:
        """Has a call rated again of which a file is not as it was for its rating; an error where that goes on."""
        if not command.files:
            return None
        path = await anyio.to_thread.run_sync(changed, command.files, self._workspace)
        if path is None:
            return None
        action = command.action
        if command.attempt > MOST_LOOKS:
            return action_error(action, _CHANGED.format(path))
        return ActionRevised(
            source="environment", action_id=action.id, arguments=action.arguments, resources=action.resources
        )

    async def _run(self, action: ActionEvent, call: _Call) -> Event:
        try:
            if self._writes_mark(action):
                raise ToolError(_MARKED)
            arguments = self._tools.parse(action.tool_name, action.arguments)
            with guarded:
                observation = await self._executor(arguments, call)
            if not isinstance(observation, Observation):
                raise TypeError(f"it returned {type(observation).__name__}, not an Observation")
            details, fingerprint = _details(observation), _fingerprint(observation)
        except ToolError as expected:
            observation = Observation(content=content.text(content.sound(str(expected))), is_error=True)
            details, fingerprint = _details(observation), _fingerprint(observation)
        except Exception as failure:  # a tool's failure is the model's to handle
            told = clip(content.sound(f"{self._name} failed: {type(failure).__name__}: {failure}"), MAX_RESULT)
            return action_error(action, told)
        return ObservationEvent(
            id=call.observation_id,
            action_id=action.id,
            tool_name=action.tool_name,
            tool_call_id=action.tool_call_id,
            content=await bounded(observation.content, self._log, self._secrets, call.spill),
            is_error=observation.is_error,
            details=details,
            labels=self._labels(action, observation.labels),
            fingerprint=fingerprint,
            found=observation.found,
            caused_by=action.id,
        )

    def _kept(self, action: ActionEvent) -> AbstractAsyncContextManager[None]:
        """Around a call that may change files they are kept."""
        try:
            if self._keeper is not None and self._tools.may_write(action.tool_name, action.arguments):
                return self._keeper.around(action)
        except BadCall:
            pass  # it will be refused
        return nullcontext()

    def _labels(self, action: ActionEvent, said: tuple[Label, ...]) -> tuple[Label, ...]:
        """Where what the result holds comes from: as it says itself, as the tool says, and as the action was rated."""
        rated = next((p.labels for p in self._log.state.branch.pending if p.action.id == action.id), ())
        declared = self._tools.labels(action.tool_name)
        return tuple(sorted({*rated, *declared, *said})) if declared or said else rated


def _fingerprint(observation: Observation) -> int:
    return 0 if observation.still_running else crc32(msgspec.json.encode(observation.content)) or 1


def _details(observation: Observation) -> msgspec.Raw:
    if type(observation) is Observation:
        return _NOTHING
    fields = {name: getattr(observation, name) for name in observation.__struct_fields__ if name not in _COMMON_FIELDS}
    return msgspec.Raw(msgspec.json.encode(fields or None))
