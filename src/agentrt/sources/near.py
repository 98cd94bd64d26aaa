"""`near`: a copy, on this machine, of the files that may instruct agents in a workspace that only its place has."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import anyio
import msgspec

from ..context.telling import commands
from ..errors import ToolError
from ..placing import Setting, Walked
from ..sandboxes.kinds import place_of
from ..sandboxes.mirror import PlaceMirror
from ..specs.agent_file import AgentFile
from ..specs.context import ContextProblem, Gathered
from ..specs.skill import Skill
from ..specs.workspace import WorkspaceSpec
from .instructions import DEPTH, PASSED_OVER
from .text import MOST_BYTES
from .writings import may_instruct

SECONDS = 30.0
"""Seconds within which the place is reached and the files are brought here."""


@asynccontextmanager
async def near(workspace: WorkspaceSpec) -> AsyncIterator[tuple[Path, tuple[ContextProblem, ...]]]:
    """Provide the directory of the copy, and why it is empty if the place cannot be reached."""
    mirror: PlaceMirror | None = None
    problems: tuple[ContextProblem, ...] = ()
    try:
        async with anyio.create_task_group() as tasks:
            place = place_of(workspace, Setting(tasks.start_soon))
            mirror = PlaceMirror(place, may_be_read, skipped=PASSED_OVER)
            try:
                with anyio.fail_after(SECONDS):
                    await mirror.fetch()
            except (ToolError, TimeoutError) as error:
                why = str(error) or f"its place did not answer within {SECONDS:g} s"
                problems = (ContextProblem(workspace.path, why),)
            finally:
                with anyio.CancelScope(shield=True):
                    await place.close()
                tasks.cancel_scope.cancel()
        assert mirror is not None
        yield Path(mirror.directory), problems
    finally:
        if mirror is not None:
            with anyio.CancelScope(shield=True):
                await mirror.close()


def may_be_read(one: Walked) -> bool:
    """Return whether a file may be instructions, a skill, an agent or a memory."""
    path = PurePosixPath(one.path)
    if not stat.S_ISREG(one.mode):  # of what a link leads to, nobody knows who wrote it
        return False
    own = path.parts[0].startswith(".")
    is_text = may_instruct(one.path) and (own or bool(path.suffix) or path.name.isupper())
    passed_over = len(path.parts) > DEPTH + 1
    return (is_text or (own and path.suffix == ".json")) and not passed_over and one.size <= MOST_BYTES


def as_there(found: Gathered, copy: Path, workspace: WorkspaceSpec) -> Gathered:
    """Return what was read in a copy with the paths of the workspace.

    Hooks, servers, permissions and commands are left out: what they run could change there unseen after a person
    agreed.
    """
    there: Gathered = _moved(found, str(copy), workspace.path)
    skills, agents = map(_told_alone, there.skills), map(_agent_alone, there.agents)
    there = msgspec.structs.replace(there, skills=tuple(skills), agents=tuple(agents))
    withheld = bool(found.hooks or found.servers or found.permissions)
    told = "its hooks, MCP servers and permissions are not read: this machine does not see the files that they run"
    return msgspec.structs.replace(
        there,
        hooks=(),
        hooks_path="",
        servers={},
        servers_path="",
        permissions=(),
        permissions_path="",
        problems=(*there.problems, *((ContextProblem(workspace.path, told),) if withheld else ())),
    )


def _told_alone(skill: Skill) -> Skill:
    """Return what a skill of the project says, without what it would run or permit."""
    if skill.origin != "project":
        return skill
    body = "" if commands(skill.body) else skill.body
    return msgspec.structs.replace(skill, body=body, allowed_tools=(), servers=(), brought={})


def _agent_alone(agent: AgentFile) -> AgentFile:
    if agent.origin != "project":
        return agent
    return msgspec.structs.replace(agent, hooks=(), servers=(), permission_mode="")


def _moved(value: Any, before: str, after: str) -> Any:
    """Return a value with another directory in all its texts."""
    if isinstance(value, str):
        return value.replace(before, after)
    if isinstance(value, msgspec.Struct):
        fields = {name: _moved(getattr(value, name), before, after) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, Path):
        return Path(_moved(str(value), before, after))
    if isinstance(value, (tuple, list, frozenset, set)):
        return type(value)(_moved(one, before, after) for one in value)
    if isinstance(value, dict):
        return {_moved(key, before, after): _moved(one, before, after) for key, one in value.items()}
    return value
