"""A real `ToolContext` that keeps what it is given, and can wait for a tool's output."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from agentrt.actors.core.leases import Leases, Opened
from agentrt.errors import ToolError
from agentrt.events import InputGiven, ObservationEvent
from agentrt.executing import Made, details_of
from agentrt.ids import new_id
from agentrt.placing import Place, Setting
from agentrt.protocols import Calls, Files, Models, Observation
from agentrt.sandboxes.kinds import place_of
from agentrt.secrets import CurrentMask, SecretRegistry
from agentrt.specs import BlobReference, LocalWorkspace, WorkspaceSpec
from agentrt.specs.workspace import Confine
from tests.sandboxes import living


class _NoCalls:
    names: tuple[str, ...] = ()
    resumed = False

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Made:
        raise ToolError(f"unknown tool {tool!r}")

    async def made(self) -> Sequence[Made]:
        return ()


@dataclass
class Wall:
    """What confines the workspaces of contexts that are made from now on."""

    confine: Confine = "off"


WALL = Wall()

VARIABLES = ("ACCESS", "SOME_SETTING")
"""The variables that tests set for programs."""


def workspace_at(path: Path) -> LocalWorkspace:
    """The workspace of a directory."""
    return LocalWorkspace(str(path), confine=WALL.confine, variables=VARIABLES)


def lives(pid: int) -> bool:
    """Whether a process runs, by the number that programs of the workspaces know."""
    return living.lives(pid) if WALL.confine == "off" else living.lives_inside(pid)


opened = list[Place]()
"""The places that contexts have opened in a test, which closes them."""


class FakeContext:
    """What a tool has of its conversation, in memory: `shown` is its output so far, `kept` its blobs by their hash.

    `spilled` is what it had written for the model to read, by path; where it is None nothing can be.
    `last` is what the tool's latest result added, as the log has it, `registry` the conversation's secrets.
    """

    async def ask(
        self, message: str, schema: Mapping[str, Any] | None = None, url: str = "", asks: str = ""
    ) -> InputGiven | None:
        return None

    def __init__(
        self,
        path: Path,
        last: msgspec.Raw | None = None,
        registry: SecretRegistry | None = None,
        place: Place | None = None,
    ) -> None:
        self._last = last
        self._registry = registry if registry is not None else SecretRegistry()
        self.workspace: WorkspaceSpec = workspace_at(path) if place is None else place.workspace
        self.conversation = new_id()
        self._place = place
        self.tasks: TaskGroup | None = None
        self.leases: Leases | None = None
        self.shown = ""
        self._past: list[ObservationEvent] = []
        self.kept: dict[str, bytes] = {}
        self.spilled: dict[str, str] | None = {}
        self._more = anyio.Event()

    @property
    def models(self) -> Models:
        """None are there: what uses them is tried in a conversation."""
        raise NotImplementedError

    @property
    def calls(self) -> Calls:
        """Nothing can be called, either."""
        return _NoCalls()

    @property
    def recollection(self) -> Any:
        """The results so far, and nothing else: what uses more is tried in a conversation."""
        return self

    async def results(self, tool: str) -> list[ObservationEvent]:
        """What was remembered of a tool."""
        return [result for result in self._past if result.tool_name == tool]

    def remember(self, tool: str, observation: Observation) -> None:
        """Take a result as the log would."""
        seq = len(self._past) + 1
        details = details_of(observation)
        self._past.append(
            ObservationEvent(seq=seq, tool_name=tool, tool_call_id="", action_id="", content=(), details_json=details)
        )

    @property
    def place(self) -> Place:
        """That of the workspace."""
        if self._place is None:
            setting = Setting(self.start_soon, self.masked, self.conversation)
            self._place = place_of(self.workspace, setting)
            opened.append(self._place)
        return self._place

    @property
    def files(self) -> Files:
        """Those that a conversation in this workspace reaches."""
        return self.place.files.blocking

    async def previous(self) -> msgspec.Raw | None:
        """What the tool's latest result added."""
        return self._last

    def output(self, text: str) -> None:
        """Note a piece of output."""
        self.shown += text
        self._more.set()

    def start_soon(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something in `tasks`, which must be there."""
        assert self.tasks is not None
        self.tasks.start_soon(function)

    async def lease(self, kind: str, opened: Opened[Any], *, tree: bool = False) -> Any:
        """A share of what is open in `leases`, which must be there: those of one tree."""
        assert self.leases is not None
        return await self.leases.lease(kind if tree else f"{kind} {self.conversation}", opened)

    async def keep(self, data: bytes, name: str, media_type: str = "") -> BlobReference:
        """Note a blob."""
        digest = hashlib.sha256(data).hexdigest()
        self.kept[digest] = data
        return BlobReference(sha256=digest, size=len(data), name=name)

    async def spill(self, text: str) -> str | None:
        """Note a text under a path."""
        if self.spilled is None:
            return None
        path = f"/spilled/{len(self.spilled)}"
        self.spilled[path] = text
        return path

    async def secrets(self, text: str) -> Mapping[str, str]:
        """The secrets that `text` names."""
        return await self._registry.named_in(text)

    def masked(self, text: str, *, by_line: bool = False) -> str:
        """The text without secrets."""
        return self._registry.mask.text(text, by_line=by_line)

    def masking(self) -> CurrentMask:
        """The same, piece by piece."""
        return CurrentMask(lambda: self._registry.mask)

    async def until(self, pattern: str) -> re.Match[str]:
        """The first place where the output matches, once it does. Raises `TimeoutError` after 30 s."""
        with anyio.fail_after(30):
            while (match := re.search(pattern, self.shown)) is None:
                self._more = anyio.Event()
                await self._more.wait()
        return match
