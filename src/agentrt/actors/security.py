"""`SecurityActor`: rates actions before they run."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..context.replies import BadCall
from ..decisions import AssessRisk
from ..events import ActionEvent, RiskAssessed
from ..protocols import SecurityAnalyzer
from ..security.paths import normal
from ..security.rating import Own, Rating, Scene
from ..security.rules import wanted, written
from ..security.shell_text import settled
from ..security.verdicts import highest, shortened, unknown
from ..specs import SecurityRisk, WorkspaceSpec
from ..specs.agent import RULES
from ..specs.content import sound
from ..tools import Tools
from .analyzers import EnsembleAnalyzer, apply_rule, in_thread
from .dispatcher import Perform
from .event_log import Log
from .scripts import Script, read_scripts, with_ends
from .unheld import directory_of, rated_unheld

RECENT = timedelta(days=1)
"""A script that changed no longer than this before the conversation began is rated by its content."""

ROUNDS = 3
"""How many levels of scripts are read: those that the action runs, those that these run, and so on."""

_UNWRITTEN = "runs {}, which a call before it in the same reply writes"

AT_ONCE = 256
"""Number of actions of the log that are examined in one call in a thread."""

_GOES = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[\s;&|({])\.\s")
"""Matches commands that may leave the shell in another directory, also those that would fail to."""


class _Waiting(msgspec.Struct):
    """An action before the one that is rated, and what is known of it, so that it is examined only once."""

    action: ActionEvent
    goes: bool | None = None
    """Whether it may leave the shell in another directory; None: not examined yet."""
    written: dict[str | None, dict[str, str]] = {}
    """The files that it writes, by the directory in which it begins."""


class SecurityActor(AbstractAsyncContextManager["SecurityActor"]):
    """Performs `AssessRisk` with the analyzers that the agent names. If one fails, the action is rated HIGH."""

    def __init__(
        self,
        log: Log,
        analyzers: Mapping[str, Callable[[], SecurityAnalyzer]],
        tools: Tools,
        workspace: WorkspaceSpec,
        own: Callable[[], Own] = Own,
        listening: Callable[[frozenset[int]], frozenset[int]] = lambda ports: frozenset(),
        unheld: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        """`unheld` returns why nothing confines the commands of the workspace, if so."""
        self._log, self._analyzers, self._tools, self._workspace, self._own = log, analyzers, tools, workspace, own
        self._listening, self._unheld = listening, unheld
        self._names: tuple[str, ...] = ()
        self._analyzer: SecurityAnalyzer | None = None
        self._written: set[str] = set()
        """The paths that the conversation's actions wrote, up to the event `_learned`."""
        self._learned = 0
        self._waiting: dict[str, _Waiting] = {}

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
            if scene.effects is not None and (scene.effects.reads or scene.effects.writes):
                effects, ends = with_ends(scene.effects, self._workspace)
                scene, marks = replace(scene, effects=effects), marks | ends
            rating = await self._chosen(analyzers).assess(action, scene)
            if scene.effects is not None and self._unheld is not None and (why := await self._unheld()):
                more = await rated_unheld(rating, scene, why)
                rating = rating if more is None else highest((rating, more))
            if unwritten:
                rating = highest((rating, unknown(_UNWRITTEN.format(unwritten))))
        except Exception as failure:  # fails closed, whatever it is
            rating = Rating(SecurityRisk.HIGH, f"the analyzer failed: {type(failure).__name__}: {failure}")
        assessed = RiskAssessed(
            action_id=action.id,
            risk=rating.risk,
            reason=sound(shortened(rating.reason)),
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
        """Return what the action does and in which directory: the one in which its tool's last command ended.

        The directory is unknown if a pending call before this one may change it.
        """
        scene = self._does(action, Scene(self._workspace, self._workspace.path, own=self._own()))
        if scene.effects is None or not scene.effects.runs:
            return scene
        for waiting in self._before(action):
            if waiting.action.tool_name == action.tool_name:
                if waiting.goes is None:
                    effects = self._does(waiting.action, scene).effects
                    waiting.goes = effects is None or any(_GOES.search(source.text) for source in effects.sources)
                if waiting.goes:
                    return replace(scene, directory=None)
        directory = await directory_of(self._log, action.tool_name, scene.directory or "")
        return replace(scene, directory=directory or None)

    def _before(self, action: ActionEvent) -> list[_Waiting]:
        """Return the pending actions before this one."""
        known, found = self._waiting, list[_Waiting]()
        self._waiting = {}
        for pending in self._log.state.branch.pending:
            earlier = pending.action
            waiting = known.get(earlier.id)
            if waiting is None or waiting.action is not earlier:  # a hook may have revised it
                waiting = _Waiting(earlier)
            self._waiting[earlier.id] = waiting
            if earlier.id == action.id:
                break
            found.append(waiting)
        return found

    def _does(self, action: ActionEvent, scene: Scene) -> Scene:
        """Return the scene with what an action does. Raise `BadCall` if the action cannot run."""
        annotations = self._log.state.definition(action.tool_name).annotations
        effects = self._tools.effects(action.tool_name, action.arguments_json)
        return replace(scene, effects=effects, only_reads=annotations.read_only and not annotations.open_world)

    async def _with_scripts(self, action: ActionEvent, scene: Scene) -> tuple[Scene, dict[str, str], str]:
        """Return the scene with the texts of the files that the action runs, and of those that these run, if they are
        young enough, and with the ports on which the conversation listens, if the action sends to some; the marks that
        show whether a file has changed when the action runs; and a file whose text is unknown because a call before
        this one writes it ("" if none).
        """
        earlier = await self._written_earlier(action, scene)
        scene = replace(scene, files={path: text for path, text in earlier.items() if settled(text)})
        marks, unwritten = dict[str, str](), ""
        for _ in range(ROUNDS):
            files, ports = await apply_rule(wanted, action, scene)
            if ports:
                listening = await anyio.to_thread.run_sync(self._listening, ports)
                scene = replace(scene, listening=scene.listening | listening)
            unwritten = unwritten or min(files & earlier.keys(), default="")
            unread = files - marks.keys() - earlier.keys()
            found = await self._read(unread) if unread else {}
            marks |= {path: script.mark for path, script in found.items()}
            texts = {path: script.text for path, script in found.items() if script.text is not None}
            if not texts:
                break
            scene = replace(scene, files={**scene.files, **texts})
        return scene, marks, unwritten

    async def _written_earlier(self, action: ActionEvent, scene: Scene) -> dict[str, str]:
        """Return the files that the pending calls before this one will have written when it runs, or are writing."""
        found: dict[str, str] = {}
        for waiting in self._before(action):
            if (files := waiting.written.get(scene.directory)) is None:
                files = await apply_rule(written, waiting.action, self._does(waiting.action, scene))
                waiting.written[scene.directory] = files
            found |= files
        return found

    async def _read(self, paths: frozenset[str]) -> dict[str, Script]:
        """Return the files at these paths, the young ones with their texts.

        A file is young if it changed since `RECENT` before the conversation began, or if the conversation wrote it.
        """
        state = self._log.state
        assert state.created is not None
        since = (state.created.timestamp - RECENT).timestamp()

        def is_young(path: str, status: os.stat_result) -> bool:
            # of a file's times, only ctime cannot be set back
            return status.st_ctime >= since or path in self._written

        found = await anyio.to_thread.run_sync(read_scripts, paths, self._workspace, is_young)
        if old := {path for path, script in found.items() if script.is_old}:
            await self._learn_writes()
            found |= await anyio.to_thread.run_sync(read_scripts, old & self._written, self._workspace, is_young)
        return found

    async def _learn_writes(self) -> None:
        """Add what the actions wrote that were logged since the last call of this."""
        actions: list[ActionEvent] = []
        async for event in self._log.events(self._learned):
            self._learned = event.seq
            if isinstance(event, ActionEvent):
                actions.append(event)
            if len(actions) == AT_ONCE:
                self._written |= await in_thread(partial(self._all_written, actions))
                actions = []
        if actions:
            self._written |= await in_thread(partial(self._all_written, actions))

    def _all_written(self, actions: Sequence[ActionEvent]) -> set[str]:
        """Return the paths that actions wrote, as far as their arguments tell. For a thread."""
        scene, found = Scene(self._workspace, normal(self._workspace.path)), set[str]()
        for action in actions:
            with contextlib.suppress(msgspec.MsgspecError, BadCall):  # the action never ran
                found |= written(action, self._does(action, scene)).keys()
        return found
