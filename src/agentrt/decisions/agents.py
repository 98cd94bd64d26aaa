"""Checks an agent's configuration before anything of it is logged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError
from ..specs import Agent, Tool, ToolDefinition, replaced
from ..specs.condensers import named_condensers
from ..specs.tool import ALWAYS
from .permissions import WHOLE

MOST_SOUND = 100
"""Agents that are remembered as sound."""

_sound = dict[int, tuple[Agent, Agent]]()
"""Agents as they were given, and as logs have them, by `id`; many conversations begin with one agent."""


def sound_agent(agent: Agent) -> Agent:
    """Return an agent as its log will have it. Raises `ConfigurationError` for a value that does not have its field's
    type: it could not be read back.
    """
    given, sound = _sound.get(id(agent), (None, agent))
    if given is agent and sound == agent:  # a dictionary in it may have been changed
        return sound
    try:
        sound = replaced(agent, {})
    except (TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"the agent is not valid: {error}") from error
    _sound[id(agent)] = agent, sound
    if len(_sound) > MOST_SOUND:
        del _sound[next(iter(_sound))]
    return sound


def with_tools(agent: Agent, names: Iterable[str]) -> Agent:
    """Return the agent with the tools given as implementations that neither it nor an agent below it names."""
    named = {*ALWAYS, *_named_in(agent)}
    added = tuple(Tool(name) for name in dict.fromkeys(names) if name not in named)
    return replace(agent, tools=(*agent.tools, *added)) if added else agent


def _named_in(agent: Agent) -> Iterator[str]:
    yield from (spec.name for spec in agent.tools)
    for other in agent.agents.values():
        yield from _named_in(other)


def check_rules(agent: Agent, tools: Sequence[ToolDefinition]) -> None:
    """Raise `ConfigurationError` for a rule about an argument that its tool does not have: it would deny nothing."""
    for rule in agent.rules:
        if rule.argument in ("", WHOLE):
            continue
        for definition in tools:
            if definition.name == rule.tool:
                known = msgspec.json.decode(definition.parameters).get("properties") or {rule.argument: None}
                if rule.argument not in known:
                    there = ", ".join(known)
                    raise ConfigurationError(f"a rule is about {rule.argument!r} of {rule.tool}, which has {there}")


def check_names(
    agent: Agent,
    *,
    analyzers: Collection[str],
    hooks: Collection[str],
    critics: Collection[str],
    condensers: Collection[str],
) -> None:
    """Raise `ConfigurationError` if an agent, or one below it, names something that does not exist."""
    functions = [hook.function for hook in agent.hooks if hook.function is not None]
    for kind, given, known in (
        ("security analyzer", agent.analyzers, analyzers),
        ("hook function", functions, hooks),
        ("critic", [agent.critic.name] if agent.critic is not None else [], critics),
        ("condenser", named_condensers(agent.condenser), condensers),
    ):
        if missing := [name for name in given if name not in known]:
            there = ", ".join(sorted(known)) or "none"
            raise ConfigurationError(f"unknown {kind} {missing[0]!r}: known are {there}; give more to Runtime(...)")
    for other in agent.agents.values():
        check_names(other, analyzers=analyzers, hooks=hooks, critics=critics, condensers=condensers)
