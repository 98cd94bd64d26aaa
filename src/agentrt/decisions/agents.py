"""Whether there can be such an agent: what is wrong in it is said before anything of it is logged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError
from ..specs import Agent, Tool, ToolDefinition, replaced
from .permissions import WHOLE


def sound_agent(agent: Agent) -> Agent:
    """An agent as its log will have it. Raises `ConfigurationError` for what is not of its field's type: that could
    not be read again.
    """
    try:
        return replaced(agent, {})
    except (TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"there can be no such agent: {error}") from error


def with_tools(agent: Agent, names: Iterable[str]) -> Agent:
    """The agent with the tools that were given as implementations named in its spec."""
    named = {spec.name for spec in agent.tools}
    added = tuple(Tool(name) for name in names if name not in named)
    return replace(agent, tools=(*agent.tools, *added)) if added else agent


def check_rules(agent: Agent, tools: Sequence[ToolDefinition]) -> None:
    """Raises `ConfigurationError` for a rule about an argument that its tool does not have: it would deny nothing."""
    for rule in agent.rules:
        if rule.argument in ("", WHOLE):
            continue
        for definition in tools:
            if definition.name == rule.tool:
                known = msgspec.json.decode(definition.parameters).get("properties") or {rule.argument: None}
                if rule.argument not in known:
                    there = ", ".join(known)
                    raise ConfigurationError(f"a rule is about {rule.argument!r} of {rule.tool}, which has {there}")
