"""Sharing a budget: the grant and the agent of a delegated conversation."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError
from ..events import Grant
from ..ledger import Child, allowance
from ..specs import LLM, Agent, HookEvent, Tool
from ..specs.built_in_agents import BUILT_IN_AGENTS, READING, SAME_TOOLS
from ..specs.llm import inherits
from ..specs.policies import stricter
from ..state import Pending, State

_HOLD_BELOW = (HookEvent.BEFORE_TOOL, HookEvent.AFTER_TOOL, HookEvent.USER_MESSAGE)
"""The events whose hooks also apply to the agents to which an agent delegates."""


def grant(state: State, pending: Pending) -> Grant:
    """Return the grant of a delegation: an equal share of what is left. Each delegation that has not begun gets a
    share, and one is kept for what comes after them.

    A delegation that had begun before a crash keeps its grant.
    """
    if (begun := _begun(state, pending)) is not None:
        return begun.grant
    limits, left = state.spec.limits, allowance(state.ledger, state.spec.limits)
    waiting = [p for p in state.branch.pending if p.command is None and state.definition(p.action.tool_name).delegates]
    shares = 1 + sum(_begun(state, p) is None for p in waiting)
    return Grant(
        cost=None if left.cost is None else max(left.cost, 0.0) / shares,
        tokens=None if left.tokens is None else max(left.tokens, 0) // shares,
        steps=max(limits.max_steps - used_steps(state), 0) // shares,
    )


def _begun(state: State, pending: Pending) -> Child | None:
    """Return the conversation to which an action was delegated before a crash, if any."""
    child = state.ledger.children.get(child_id(pending))
    return child if child is not None and child.open and child.action_id == pending.action.id else None


def child_id(pending: Pending) -> str:
    """Return the id of the conversation to which an action is delegated; it is the same after a crash."""
    return delegated(pending.action.arguments_json).resume or own_child(pending.action.id)


def own_child(action_id: str) -> str:
    """Return the id of the new conversation that an action begins."""
    return f"{action_id}-child"


def used_steps(state: State) -> int:
    """Return the model calls of this run, including those that children made or may still make."""
    open_grants = (child.grant.steps or 0 for child in state.ledger.children.values() if child.open)
    return state.branch.steps + sum(open_grants)


USUAL = "general-purpose"
"""The agent for a new task, given as a `prompt`, that names none."""

FOR_HOOKS = "code-explorer"
"""The built-in agent that does a hook's task."""


class Delegated(msgspec.Struct, frozen=True):
    """A delegated task, and the name of the agent that does it; "": one like the delegating agent."""

    task: str = ""
    agent: str = ""
    resume: str = ""
    """The conversation that continues with the task; "": a new one."""
    background: bool = False


class _Arguments(msgspec.Struct, frozen=True):
    task: str = ""
    prompt: str = ""
    agent: str = ""
    subagent_type: str = ""
    resume: str | None = None
    run_in_background: bool = False


def delegated(arguments: msgspec.Raw) -> Delegated:
    """Return the task in an action's arguments, which were checked before."""
    given = msgspec.json.decode(arguments, type=_Arguments, strict=False)
    agent = given.agent or given.subagent_type or (USUAL if given.prompt and not given.resume else "")
    return Delegated(given.task or given.prompt, agent, given.resume or "", given.run_in_background)


def share_of(state: State, child: Child) -> Agent:
    """Return the agent of a delegated conversation: the named one, limited to its grant.

    The delegating agent's rules, its hooks around tools and messages and, unless the named agent has its own, its
    information flow apply, too.

    Raises `ConfigurationError` if there is no such agent, or if the conversation would be too deep.
    """
    agent = state.spec
    agents = {**BUILT_IN_AGENTS, **agent.agents}
    if child.agent and child.agent not in agents and child.action_id:
        there = ", ".join(agents)
        raise ConfigurationError(f"unknown agent {child.agent!r}; agents to delegate to: {there}")
    depth = state.created.depth + 1 if state.created is not None else 1
    if depth > agent.limits.max_depth:
        raise ConfigurationError(f"the limit is {agent.limits.max_depth} levels of delegation")
    chosen, given = chosen_of(agent, child), child.grant
    limits = replace(
        chosen.limits,
        max_steps=least(chosen.limits.max_steps, given.steps) or 0,
        max_cost=least(chosen.limits.max_cost, given.cost),
        max_tokens=least(chosen.limits.max_tokens, given.tokens),
        max_depth=agent.limits.max_depth,
    )
    deepest = depth == limits.max_depth
    tools = tuple(tool for tool in _tools(chosen, state) if not (deepest and state.definition(tool.name).delegates))
    if chosen is agent:
        return replace(agent, limits=limits, tools=tools, client_tools=(), output=None)
    rules = tuple(dict.fromkeys((*agent.rules, *chosen.rules)))
    held = (hook for hook in agent.hooks if hook.event in _HOLD_BELOW)
    hooks = tuple(dict.fromkeys((*held, *chosen.hooks)))
    if not child.action_id:  # the agent of a hook does not trigger hooks that start agents
        hooks = tuple(hook for hook in hooks if hook.agent is None and hook.event is not HookEvent.USER_MESSAGE)
    own = LLM(model=child.model) if child.model else chosen.llm
    chosen = replace(
        chosen,
        llm=agent.llm if inherits(own) else own,
        limits=limits,
        tools=tools,
        client_tools=(),
        rules=rules,
        hooks=hooks,
        flow=chosen.flow or agent.flow,
    )
    return chosen if chosen.is_vouched_for else _held(chosen, agent)


def chosen_of(agent: Agent, child: Child) -> Agent:
    """Return the agent for a delegated task: the delegating agent if no other one is named.

    For a hook's task it is always a built-in one, which no file can replace.
    """
    if not child.action_id:
        return BUILT_IN_AGENTS[FOR_HOOKS]
    return {**BUILT_IN_AGENTS, **agent.agents}.get(child.agent, agent)


def _tools(chosen: Agent, state: State) -> tuple[Tool, ...]:
    """Return the tools of an agent, including those of the delegating agent if it names them by "*". An agent that
    nobody vouches for has only tools that are offered to the delegating agent, and may read files if that one may.
    """
    offered = {tool.name for tool in state.tools}
    if any(tool.shell or "read" in tool.parts for tool in state.tools):
        offered |= {tool.name for tool in READING}
    own = tuple(tool for tool in chosen.tools if chosen.is_vouched_for or tool.name in offered)
    if SAME_TOOLS[0] not in chosen.tools:
        return own
    own = tuple(tool for tool in own if tool != SAME_TOOLS[0])
    names = {tool.name for tool in own}
    return (*(tool for tool in state.spec.tools if tool.name not in names), *own)


def _held(chosen: Agent, agent: Agent) -> Agent:
    """Return an agent that nobody vouches for, with confirmation at least as often as for the delegating agent."""
    analyzer = tuple(dict.fromkeys((*agent.analyzers, *chosen.analyzers)))
    return replace(chosen, analyzer=analyzer or None, confirmation=stricter(agent.confirmation, chosen.confirmation))


def may_not_delegate(agent: Agent, above: State | None) -> bool:
    """Return whether a conversation would be so deep that it may not delegate."""
    depth = above.created.depth + 1 if above is not None and above.created is not None else 0
    return depth >= agent.limits.max_depth


N = TypeVar("N", int, float)


def least(one: N | None, other: N | None) -> N | None:
    """Return the lower of two limits; None: no limit."""
    return other if one is None else one if other is None else min(one, other)
