"""`SecurityActor`: rates actions before they run."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..context.replies import BadCall
from ..decisions import AssessRisk
from ..events import ActionEvent, ObservationEvent, RiskAssessed
from ..protocols import SecurityAnalyzer
from ..security.analyzers import EnsembleAnalyzer
from ..security.paths import normal
from ..security.rating import Own, Rating, Scene
from ..security.rules import scripts, written
from ..security.shell_text import settled
from ..security.verdicts import highest, unknown
from ..specs import SecurityRisk, Workspace
from ..specs.agent import RULES
from ..specs.content import sound
from ..tools import Tools
from .dispatcher import Perform
from .event_log import Log
from .scripts import Script, read_scripts

RECENT = timedelta(days=1)
"""How long before a conversation what it runs may have been written, so that it is rated by what is in it."""

ROUNDS = 3
"""How often is looked at what a script runs itself."""

_UNWRITTEN = "runs {}, which a call before it in the same reply writes"

AT_ONCE = 256
"""Actions of the log that are looked at together."""

_PLACING = ("ObservationEvent", "ResourceLost")
"""What tells where the terminal stands; one that was restarted stands in the workspace."""


_GOES = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[\s;&|({])\.\s")
"""What a command may have that leaves the shell in another directory; one that goes in vain is asked about, too."""


class _Placed(msgspec.Struct):
    working_dir: str = ""


class SecurityActor(AbstractAsyncContextManager["SecurityActor"]):
    """Performs `AssessRisk`, by the analyzers that the agent names; one that fails counts as HIGH."""

    def __init__(
        self,
        log: Log,
        analyzers: Mapping[str, Callable[[], SecurityAnalyzer]],
        tools: Tools,
        workspace: Workspace,
        own: Callable[[], Own] = Own,
    ) -> None:
        self._log, self._analyzers, self._tools, self._workspace, self._own = log, analyzers, tools, workspace, own
        self._names: tuple[str, ...] = ()
        self._analyzer: SecurityAnalyzer | None = None
        self._written: set[str] = set()
        """What the conversation's actions wrote, up to the event `_learned`."""
        self._learned = 0

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Rate one action."""
        assert isinstance(message.command, AssessRisk)
        action, analyzers = message.command.action, message.command.analyzers
        marks, unwritten = dict[str, str](), ""
        try:
            scene = await self._scene(action)
            if RULES in analyzers:
                scene, marks, unwritten = await self._with_scripts(action, scene)
            rating = await self._chosen(analyzers).assess(action, scene)
            if unwritten:
                rating = highest((rating, unknown(_UNWRITTEN.format(unwritten))))
        except Exception as failure:  # fails closed, whatever it is
            rating = Rating(SecurityRisk.HIGH, f"the analyzer failed: {type(failure).__name__}: {failure}")
        assessed = RiskAssessed(
            action_id=action.id,
            risk=rating.risk,
            reason=sound(rating.reason),
            sinks=rating.sinks,
            labels=rating.labels,
            files=marks,
            caused_by=action.id,
        )
        await self._log.append(assessed, command=message.command.id)

    def _chosen(self, names: tuple[str, ...]) -> SecurityAnalyzer:
        if self._analyzer is None or names != self._names:
            made = [self._analyzers[name]() for name in names]
            self._analyzer = made[0] if len(made) == 1 else EnsembleAnalyzer(made)
            self._names = names
        return self._analyzer

    async def _scene(self, action: ActionEvent) -> Scene:
        """What the action does, and where: where its tool's last command ended, unless one comes before that may go
        elsewhere.
        """
        scene = self._does(action, Scene(self._workspace, self._workspace.path, own=self._own()))
        if scene.effects is None or not scene.effects.runs:
            return scene
        for waiting in self._log.state.branch.pending:
            if waiting.action.id == action.id:
                break
            if waiting.action.tool_name == action.tool_name:
                effects = self._does(waiting.action, scene).effects
                if effects is None or any(_GOES.search(source.text) for source in effects.sources):
                    return replace(scene, directory=None)
        last = await self._log.newest(lambda seen: seen.tool_name == action.tool_name and seen.type in _PLACING)
        found = msgspec.json.decode(last.details, type=_Placed | None) if isinstance(last, ObservationEvent) else None
        return replace(scene, directory=found.working_dir) if found is not None and found.working_dir else scene

    def _does(self, action: ActionEvent, scene: Scene) -> Scene:
        """The scene with what an action does. Raises `BadCall` when it cannot run."""
        annotations = self._log.state.definition(action.tool_name).annotations
        effects = self._tools.effects(action.tool_name, action.arguments)
        return replace(scene, effects=effects, only_reads=annotations.read_only and not annotations.open_world)

    async def _with_scripts(self, action: ActionEvent, scene: Scene) -> tuple[Scene, dict[str, str], str]:
        """With the texts of what the action runs, and of what that runs, where they are young enough; the marks by
        which a change of them is known when it runs; and a file of which only a call before this one knows the text.
        """
        earlier = self._written_earlier(action, scene)
        scene = replace(scene, files={path: text for path, text in earlier.items() if settled(text)})
        marks, unwritten = dict[str, str](), ""
        for _ in range(ROUNDS):
            wanted = scripts(action, scene)
            unwritten = unwritten or min(wanted & earlier.keys(), default="")
            unread = wanted - marks.keys() - earlier.keys()
            found = await self._read(unread) if unread else {}
            marks |= {path: script.mark for path, script in found.items()}
            texts = {path: script.text for path, script in found.items() if script.text is not None}
            if not texts:
                break
            scene = replace(scene, files={**scene.files, **texts})
        return scene, marks, unwritten

    def _written_earlier(self, action: ActionEvent, scene: Scene) -> dict[str, str]:
        """What the calls before this one will have written, or are writing, when it runs."""
        found: dict[str, str] = {}
        for waiting in self._log.state.branch.pending:
            if waiting.action.id == action.id:
                break
            found |= written(waiting.action, self._does(waiting.action, scene))
        return found

    async def _read(self, paths: frozenset[str]) -> dict[str, Script]:
        """The files at these paths; young are those that changed since the conversation began, or shortly before, and
        those that it wrote itself.
        """
        state = self._log.state
        assert state.created is not None
        since = (state.created.timestamp - RECENT).timestamp()

        def is_young(path: str, status: os.stat_result) -> bool:
            # of the times that a file has, only that of its last change cannot be set back
            return status.st_ctime >= since or path in self._written

        found = await anyio.to_thread.run_sync(read_scripts, paths, self._workspace, is_young)
        if old := {path for path, script in found.items() if script.is_old}:
            await self._learn_writes()
            found |= await anyio.to_thread.run_sync(read_scripts, old & self._written, self._workspace, is_young)
        return found

    async def _learn_writes(self) -> None:
        """Go on with the events that came since this was asked last."""
        actions: list[ActionEvent] = []
        async for event in self._log.events(self._learned):
            self._learned = event.seq
            if isinstance(event, ActionEvent):
                actions.append(event)
            if len(actions) == AT_ONCE:
                self._written |= await anyio.to_thread.run_sync(self._all_written, actions)
                actions = []
        if actions:
            self._written |= await anyio.to_thread.run_sync(self._all_written, actions)

    def _all_written(self, actions: Sequence[ActionEvent]) -> set[str]:
        """The paths of what actions wrote, as far as their arguments tell; for a thread."""
        scene, found = Scene(self._workspace, normal(self._workspace.path)), set[str]()
        for action in actions:
            with contextlib.suppress(msgspec.MsgspecError, BadCall):  # it never ran
                found |= written(action, self._does(action, scene)).keys()
        return found
