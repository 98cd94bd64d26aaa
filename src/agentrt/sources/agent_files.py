"""Reads agents from files, Markdown with front matter. Work may be delegated to them. Reading is for a thread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

import msgspec

from ..errors import ConfigurationError
from ..specs.agent_file import PERMISSIONS, AgentFile
from ..specs.hooks import Hook, hooks_from_json
from ..specs.llm import INHERIT
from ..specs.skill import Origin
from .front_matter import read
from .servers import servers_in
from .skill_files import Words, words
from .text import Reader

DIRECTORIES = (".agents/agents", ".openhands/agents", ".claude/agents")
"""Directories of agents below a workspace, the root of its repository, or a home; the first one takes precedence."""


class _Limits(msgspec.Struct, forbid_unknown_fields=True):
    max_steps: int | None = None
    max_cost: float | None = None


class _Header(msgspec.Struct):
    name: str = ""
    description: str = ""
    model: str = INHERIT
    tools: Words = None
    skills: Words = None
    hooks: Any = None
    limits: _Limits = msgspec.field(default_factory=_Limits)
    max_iteration_per_run: int | None = None
    max_budget_per_run: float | None = None
    permission_mode: str = ""
    condenser: Any = None
    mcp_servers: Any = None
    mcp_config: Any = None


_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")


def find_agents(directories: Iterable[Path], reader: Reader, origin: Origin) -> dict[str, AgentFile]:
    """Return the agents in some directories, by name; of several with a name, the first one counts. Raises nothing."""
    found: dict[str, AgentFile] = {}
    for directory in directories:
        for agent in _in(directory, reader, origin):
            if (first := found.setdefault(agent.name, agent)) is not agent:
                reader.tell(Path(agent.path), f"has the name of {first.path}, which counts: {agent.name!r}")
    return found


def _in(directory: Path, reader: Reader, origin: Origin) -> Iterator[AgentFile]:
    """Yield the agents in a directory, or the one in a file."""
    is_file = directory.suffix == ".md" and not directory.is_dir()
    for path in [directory] if is_file else [directory / entry.name for entry in reader.entries(directory)]:
        if path.suffix != ".md" or path.name.lower() == "readme.md":
            continue
        text = reader.read(path)
        if text is None:
            continue
        try:
            agent, told = agent_of(text, path, origin, reader.digests[str(path)])
            for what in told:
                reader.tell(path, what)
            yield agent
        except ConfigurationError as error:
            reader.tell(path, str(error))


def agent_of(
    text: str, path: PurePath, origin: Origin = "project", digest: str = ""
) -> tuple[AgentFile, tuple[str, ...]]:
    """Return the agent in a file's text, and notes on what seems to be wrong in it.

    Raises `ConfigurationError` for an invalid agent.
    """
    header, body, misspelt = read(text, _Header)
    told = [*misspelt]
    name = header.name.strip() or path.stem
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"invalid name of an agent {name!r}: use letters, digits, '.', '_' and '-'")
    mode = header.permission_mode.strip().lower().replace("-", "_")
    if mode and mode not in PERMISSIONS:
        raise ConfigurationError(f"permission_mode is one of {', '.join(PERMISSIONS)}, not {mode!r}")
    if not body.strip():
        raise ConfigurationError("an agent needs instructions: write them below the front matter")
    steps = header.limits.max_steps if header.max_iteration_per_run is None else header.max_iteration_per_run
    cost = header.limits.max_cost if header.max_budget_per_run is None else header.max_budget_per_run
    if (steps is not None and steps < 1) or (cost is not None and not 0 <= cost < float("inf")):
        raise ConfigurationError("an agent's limits: steps must be 1 or more, USD 0 or more")
    hooks: tuple[Hook, ...] = ()
    try:
        hooks = hooks_from_json(header.hooks, told.append) if header.hooks is not None else ()
    except (ValueError, RecursionError) as error:
        told.append(f"its hooks cannot be used: {error}")
    agent = AgentFile(
        name=name,
        description=" ".join(header.description.split())[:2000],
        prompt=body.strip()[:100_000],
        path=str(path),
        digest=digest,
        origin=origin,
        model=header.model.strip() or INHERIT,
        tools=None if header.tools is None else words(header.tools),
        skills=words(header.skills),
        hooks=hooks,
        max_steps=steps,
        max_cost=cost,
        permission_mode=mode,
        condenser=header.condenser,
        servers=(*servers_in(header.mcp_servers), *servers_in(header.mcp_config)),
    )
    return agent, tuple(told)
