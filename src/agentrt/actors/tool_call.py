"""`ToolCall`: what a tool's executor can use of its conversation during one call."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
from anyio.abc import TaskGroup

from ..decisions import ExecuteAction
from ..errors import ToolError
from ..events import Event, InputGiven, InputRequested, ObservationEvent
from ..ids import new_id
from ..placing import Files, Place
from ..sandboxes.processes import process_mark
from ..secrets import CurrentMask, StreamMask
from ..specs import BlobReference, OnCrash
from ..specs.content import TEXT
from ..specs.policies import NeverConfirm
from ..tools.definition import Tools
from ..workspaces.spills import Spills
from .core.leases import Lease, Leases, Opened
from .event_log import Log
from .inner_calls import InnerCalls
from .recollection import PastParts, Recollection
from .scripts import ends_in
from .side_calls import SideCalls
from .tool_models import ModelParts, ToolModels

T = TypeVar("T")

TAIL = 64
"""Number of pieces of output that are kept, from the end, for the model in case a call is cut."""


class ToolParts(PastParts, ModelParts, Protocol):
    """The parts of a conversation that a tool actor uses."""

    @property
    def tools(self) -> Tools: ...

    @property
    def retired(self) -> Callable[[str], Event | None]: ...

    @property
    def store(self) -> str: ...

    @property
    def leases(self) -> Leases | None: ...


class ToolPlace:
    """What all calls of a tool have in common."""

    def __init__(self, log: Log, parts: ToolParts, tool: str, place: Place) -> None:
        created = log.state.created
        self.place = place
        self.conversation = process_mark(created.id, parts.store) if created is not None else ""
        self.recollection = Recollection(log, place.workspace, parts)
        self.spills = Spills(place, tool)
        self._leases, self._created = parts.leases, created

    async def lease(self, kind: str, opened: Opened[T], *, tree: bool) -> Lease[T]:
        """Return a share of what the tools of the conversation, or of its `tree`, have in common. Raise `ToolError`."""
        if self._leases is None or self._created is None:
            raise ToolError("nothing can be opened here")
        above = self._created.delegated_by
        name = self._leases.root(self._created.id, above) if tree else self._created.id
        return await self._leases.lease(f"{kind} {name}", opened)


class ToolCall:
    """The `ToolContext` of one call: shows its output, and keeps the end of it."""

    def __init__(
        self,
        log: Log,
        place: ToolPlace,
        tool: str,
        command: ExecuteAction,
        parts: ToolParts,
        tasks: TaskGroup,
        calls: SideCalls,
    ) -> None:
        action = command.action.id
        self.models = ToolModels(log, parts, calls, action)
        self.calls = InnerCalls(log, parts.tools, tool, action, resumed=command.resumed)
        self._tool, self._command, self._secrets, self._retired = tool, command.id, parts.secrets, parts.retired
        self._action, self._tools = action, parts.tools
        self._files: Files | None = None
        self.left_lost = False
        """Whether the process that the tool holds had ended when the call was over, as its result tells."""
        self.observation_id = new_id()
        self._marks = command.files
        self.place, self.workspace = place.place, place.place.workspace
        self.conversation, self.recollection = place.conversation, place.recollection
        self._log, self._tasks, self._spills, self._place = log, tasks, place.spills, place
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._masked = StreamMask(parts.secrets.mask)

    @property
    def files(self) -> Files:
        """The files of the place; for an action whose files were rated, only at the places that its rating has seen."""
        if self._files is None:
            files = self.place.files.blocking
            seen = self._log.state.spec.analyzers and self._tools.declares_effects(self._tool)
            self._files = files.rated(ends_in(self._marks)) if seen else files
        return self._files

    async def previous(self) -> msgspec.Raw | None:
        if any(tool.on_crash is OnCrash.RESUME for tool in self._log.state.tools):  # its code may have made calls
            results = await self.recollection.results(self._tool)
            return results[-1].details_json if results else None
        last = await self._log.newest(lambda seen: seen.type == "ObservationEvent" and seen.tool_name == self._tool)
        return last.details_json if isinstance(last, ObservationEvent) else None

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
        raise ToolError("the question is no longer open")

    def output(self, text: str) -> None:
        self._here(partial(self._show, text))

    def _show(self, text: str) -> None:
        self._masked.mask = self._secrets.mask
        self._tail.append(self._masked.feed(text))  # masked before it is cut, since the mask misses half a secret
        self._log.show(self.observation_id, "output", text, self._command)

    def start_soon(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._here(lambda: self._tasks.start_soon(function) and None)

    def _here(self, done: Callable[[], None]) -> None:
        """Call `done` on the event loop, also from the thread of a blocking function."""
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
