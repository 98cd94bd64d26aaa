"""`Offer`s: programs that a project or a skill brings, commands in a skill's text, and tools that it approves. None
takes effect before a person has agreed. All functions are for a thread: they block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from ..context.telling import commands
from ..pins import pins_of, pins_of_program
from ..security.paths import within
from ..specs import AnyCondenser, ToolDefinition
from ..specs.agent_file import AgentFile, model_condenser
from ..specs.context import ContextProblem, Gathered, Offer
from ..specs.hooks import Hook
from ..specs.mcp import MCPServer
from ..specs.skill import Skill
from .settings_files import rules_of


def offering(found: Gathered, workspace: str, tools: Mapping[str, ToolDefinition]) -> Gathered:
    """Return `found` with the offers of the project and of the skills added to those of plugins. Looking at `tools` may
    import them.
    """
    offers = (*_offers(found, workspace), *found.offers)
    if not found.permissions:
        return replace(found, offers=offers)
    rules, missing = rules_of(found.permissions, tools, workspace)
    path = found.permissions_path
    if rules:
        digest = _digest(workspace, rules)
        offers = (*offers, Offer(digest=digest, name="permissions of the project", path=path, rules=rules))
    told = f"no rule can say this: {', '.join(missing)}"
    problems = (*found.problems, ContextProblem(path, told)) if missing else found.problems
    return replace(found, offers=offers, problems=problems)


def _offers(found: Gathered, workspace: str) -> Iterator[Offer]:
    if found.hooks:
        yield _of_hooks(found.hooks, found.hooks_path, workspace)
    for file in (one for one in found.agents if one.origin != "user"):
        condenser = model_condenser(file)
        if file.hooks or condenser is not None:
            yield _of_agent(file, condenser, workspace)
    if found.servers:
        yield _of_servers("MCP servers of the project", found.servers, found.servers_path, workspace, foreign=True)
    for skill in found.skills:
        if skill.brought:
            name = f"MCP servers of the skill {skill.name}"
            yield _of_servers(name, skill.brought, skill.path, workspace, foreign=skill.origin == "project")
        if skill.is_foreign and ((named := commands(skill.body)) or skill.allowed_tools):
            yield _of_skill(skill, named, workspace)


def _of_hooks(hooks: Sequence[Hook], path: str, workspace: str) -> Offer:
    """Return the offer of a project's hooks, each pinned to the files of the workspace that it names."""
    made = _pinned(hooks, workspace)
    return Offer(digest=_digest(workspace, made), name="hooks of the project", path=path, hooks=made)


def _pinned(hooks: Sequence[Hook], workspace: str) -> tuple[Hook, ...]:
    return tuple(
        replace(hook, pinned=tuple(pins_of(hook.command or "", workspace)), root=workspace, confined=None)
        for hook in hooks
    )


def _of_agent(file: AgentFile, condenser: AnyCondenser | None, workspace: str) -> Offer:
    """Return the offer of an agent's hooks, and of a condenser that sends its conversation to a model."""
    hooks = _pinned(file.hooks, workspace)
    what = " and ".join(("hooks",) * bool(hooks) + ("condenser",) * (condenser is not None))
    return Offer(
        digest=_digest(workspace, (file.name, hooks, condenser)),
        name=f"{what} of the agent {file.name}",
        path=file.path,
        agent=file.name,
        hooks=hooks,
        condenser=condenser,
    )


def _of_servers(
    name: str, servers: Mapping[str, MCPServer], path: str, workspace: str, *, foreign: bool = False
) -> Offer:
    """Return the offer of servers, each pinned to the files of the workspace that its command names.

    Those of a repository (`foreign`) are confined, and in no process that other conversations have, whatever it says.
    """
    made = {name: replace(server, pinned=_pins(server, workspace)) for name, server in servers.items()}
    programs = {name: replace(server, ignored=()) for name, server in made.items()}
    if foreign or within(path, workspace):
        made = {name: replace(server, confined=True, shared=False) for name, server in made.items()}
    return Offer(digest=_digest(workspace, programs), name=name, path=path, servers=made)


def _pins(server: MCPServer, workspace: str) -> tuple[tuple[str, str], ...]:
    """Return the pins of all files of the workspace that a server's command names, and of those that it would run."""
    if not server.command:
        return ()
    path = server.env.get("PATH")
    return tuple(pins_of_program(server.command, server.args, workspace, server.cwd, path, data=True))


def _of_skill(skill: Skill, named: tuple[str, ...], workspace: str) -> Offer:
    """Return the offer of the commands in a skill's text, pinned to the files of the workspace that they name, and of
    the tools that it approves in advance, for its text as it is.
    """
    pinned = tuple(dict.fromkeys(pin for command in named for pin in pins_of(command, workspace)))
    tools = skill.allowed_tools
    shown = (skill.name, named, pinned, tools, skill.digest) if tools else (skill.name, named, pinned)
    what = " and ".join(("commands",) * bool(named) + ("approved tools",) * bool(tools))
    return Offer(
        digest=_digest(workspace, shown),
        name=f"{what} in the skill {skill.name}",
        path=skill.path,
        skill=skill.name,
        commands=named,
        tools=tools,
        pinned=pinned,
    )


def _digest(workspace: str, programs: Any) -> str:
    """Return the digest of what a person is shown: programs with their arguments, variables, addresses and files."""
    return sha256(msgspec.json.encode((workspace, programs), order="deterministic")).hexdigest()
