"""`agentrt agents`: the agents of a workspace that may be delegated to."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import WorkspaceMissing
from ..specs import Agent, AlwaysConfirm, Limits, NeverConfirm
from ..specs.built_in_agents import BUILT_IN_AGENTS
from ..specs.llm import inherits, named
from .context import Place
from .options import store_option
from .places import workspace_option
from .wording import clean


@click.group(invoke_without_command=True)
@workspace_option
@store_option
@click.pass_context
def agents(given: click.Context, workspace: Path, store: str | None) -> None:
    """List and show the agents that an agent may delegate to: those in files, and the built-in ones.

    An agent file is Markdown with front matter, in .agents/agents of the workspace or of your home directory.
    """
    if not workspace.is_dir():
        raise WorkspaceMissing(workspace.absolute())
    given.obj = Place(store, str(workspace.absolute()))
    if given.invoked_subcommand is None:
        _list(given.obj)


@agents.command(name="list")
@click.pass_obj
def list_(place: Place) -> None:
    """List the agents, as `agentrt agents` alone does."""
    _list(place)


def _list(place: Place) -> None:
    told = place.resolved()
    origins = {source.name: source.origin for source in told.event.sources if source.kind == "agent"}
    for name, agent in {**BUILT_IN_AGENTS, **told.agent.agents}.items():
        click.echo(f"{clean(name)}  ({origins.get(name, 'built in')})  {clean(agent.description)}")


@agents.command()
@click.argument("name")
@click.pass_obj
def show(place: Place, name: str) -> None:
    """Show the agent NAME: its model, its tools, the names in it that do not exist here, and its instructions."""
    told = place.resolved()
    known = {**BUILT_IN_AGENTS, **told.agent.agents}
    if name not in known:
        raise click.UsageError(f"unknown agent {name!r}; known here: {', '.join(known)}")
    agent, source = known[name], next((s for s in told.event.sources if (s.kind, s.name) == ("agent", name)), None)
    lines = {
        "file": source.path if source is not None else "",
        "description": agent.description,
        "model": "that of the agent that delegates" if inherits(agent.llm) else named(agent.llm),
        "tools": _tools(agent),
        "asks": "as the agent that delegates" if isinstance(agent.confirmation, NeverConfirm) else _asks(agent),
        "limits": _limits(agent),
        "not available": ", ".join(source.missing) if source is not None else "",
    }
    for label, value in lines.items():
        if value:
            click.echo(f"{label}: {clean(value)}")
    if agent.context is not None:
        click.echo(f"\n{clean(agent.context.system_message_suffix)}")


def _tools(agent: Agent) -> str:
    names = [tool.name for tool in agent.tools]
    return "those of the agent that delegates" if "*" in names else ", ".join(names)


def _asks(agent: Agent) -> str:
    return "about every action" if isinstance(agent.confirmation, AlwaysConfirm) else "about risky actions"


def _limits(agent: Agent) -> str:
    limits, usual = agent.limits, Limits()
    given = [f"{limits.max_steps} model calls"] if limits.max_steps != usual.max_steps else []
    return ", ".join([*given, *([f"${limits.max_cost:g}"] if limits.max_cost is not None else [])])
