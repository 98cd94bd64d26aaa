"""`SecurityActor`: rates actions before they run."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..decisions import AssessRisk
from ..events import ActionEvent, ObservationEvent, RiskAssessed
from ..protocols import SecurityAnalyzer
from ..security.analyzers import EnsembleAnalyzer
from ..security.paths import SCRATCH, within
from ..security.rating import Rating, Scene
from ..security.rules import scripts
from ..specs import SecurityRisk, Workspace
from ..specs.agent import RULES
from ..specs.content import sound
from .dispatcher import Perform
from .event_log import Log

TERMINAL = "terminal"

RECENT = timedelta(days=1)
"""How long before a conversation what it runs may have been written, so that it is rated by what is in it."""

ROUNDS = 3
"""How often is looked at what a script runs itself."""

MOST_SCRIPTS = 64
"""Scripts of one command that are read."""

MAX_SCRIPT = 64 * 1024
"""Bytes of a script that is read."""

_PLACING = ("ObservationEvent", "ResourceLost")
"""What tells where the terminal stands; one that was restarted stands in the workspace."""


_GOES = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[\s;&|({])\.\s")
"""What a command may have that leaves the shell in another directory; one that goes in vain is asked about, too."""


class _Command(msgspec.Struct):
    command: str = ""


class _Placed(msgspec.Struct):
    working_dir: str = ""


class SecurityActor(AbstractAsyncContextManager["SecurityActor"]):
    """Performs `AssessRisk`, by the analyzers that the agent names; one that fails counts as HIGH."""

    def __init__(self, log: Log, analyzers: Mapping[str, Callable[[], SecurityAnalyzer]], workspace: Workspace) -> None:
        self._log, self._analyzers, self._workspace = log, analyzers, workspace
        self._names: tuple[str, ...] = ()
        self._analyzer: SecurityAnalyzer | None = None

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Rate one action."""
        assert isinstance(message.command, AssessRisk)
        action = message.command.action
        try:
            scene = await self._with_scripts(action, await self._scene(action))
            rating = await self._chosen().assess(action, scene)
        except Exception as failure:  # fails closed, whatever it is
            rating = Rating(SecurityRisk.HIGH, f"the analyzer failed: {type(failure).__name__}: {failure}")
        if rating.risk is SecurityRisk.UNKNOWN and self._only_reads(action):
            rating = Rating(SecurityRisk.LOW, "the tool says that it only reads", rating.sinks, rating.labels)
        assessed = RiskAssessed(
            action_id=action.id,
            risk=rating.risk,
            reason=sound(rating.reason),
            sinks=rating.sinks,
            labels=rating.labels,
            caused_by=action.id,
        )
        await self._log.append(assessed, command=message.command.id)

    def _chosen(self) -> SecurityAnalyzer:
        names = self._log.state.spec.analyzers
        if self._analyzer is None or names != self._names:
            made = [self._analyzers[name]() for name in names]
            self._analyzer = made[0] if len(made) == 1 else EnsembleAnalyzer(made)
            self._names = names
        return self._analyzer

    async def _scene(self, action: ActionEvent) -> Scene:
        """Where the action takes place: where the last command ended, unless one comes before that may go elsewhere."""
        for waiting in self._log.state.branch.pending:
            if waiting.action.id == action.id:
                break
            if waiting.action.tool_name == TERMINAL:
                given = msgspec.json.decode(waiting.action.arguments, type=_Command)
                if _GOES.search(given.command):
                    return Scene(self._workspace, None)
        last = await self._log.newest(lambda seen: seen.tool_name == TERMINAL and seen.type in _PLACING)
        if not isinstance(last, ObservationEvent):
            return Scene(self._workspace, self._workspace.path)
        found = msgspec.json.decode(last.details, type=_Placed | None)
        return Scene(self._workspace, (found and found.working_dir) or self._workspace.path)

    async def _with_scripts(self, action: ActionEvent, scene: Scene) -> Scene:
        """With the texts of what the action runs, and of what that runs, where they are young enough."""
        state = self._log.state
        if RULES not in state.spec.analyzers or state.created is None:
            return scene
        since = (state.created.timestamp - RECENT).timestamp()
        for _ in range(ROUNDS):
            unread = scripts(action, scene)
            found = await anyio.to_thread.run_sync(_texts, unread, self._workspace.path, since) if unread else {}
            if not found:
                break
            scene = replace(scene, files={**scene.files, **found})
        return scene

    def _only_reads(self, action: ActionEvent) -> bool:
        """Whether a tool that nobody has rules for declares that it changes nothing, here or elsewhere."""
        prompt = self._log.state.prompt
        found = next((d.annotations for d in prompt.tools if d.name == action.tool_name), None) if prompt else None
        return found is not None and found.read_only and not found.open_world


def _texts(paths: Iterable[str], workspace: str, since: float) -> dict[str, str]:
    """The texts of files in the workspace, or among temporary files, that were written since; for a thread."""
    found = {}
    for path in sorted(paths)[:MOST_SCRIPTS]:
        if not any(within(path, directory) for directory in (workspace, *SCRATCH)):
            continue
        try:
            with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
                status = os.fstat(file.fileno())
                if stat.S_ISREG(status.st_mode) and status.st_mtime >= since and status.st_size <= MAX_SCRIPT:
                    found[path] = file.read().decode()
        except (OSError, ValueError):  # gone, not to be read, or no text: a program, which nobody can rate
            continue
    return found
