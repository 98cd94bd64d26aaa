"""The first batch of a conversation. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..events import ConversationCreated, RuleAdded, SystemPromptEvent
from ..specs import Agent, PermissionRule, ToolDefinition, WorkspaceSpec
from ..state import State


def first_batch(
    name: str,
    agent: Agent,
    workspace: WorkspaceSpec,
    tools: tuple[ToolDefinition, ...],
    above: State | None = None,
    owner: str | None = None,
    told: tuple[str, str] = ("", ""),
) -> tuple[ConversationCreated, SystemPromptEvent]:
    """Return the first events of a conversation; `told` are the two parts of the prompt. A delegated conversation has a
    state `above` it, and its owner.
    """
    parent = above.created if above is not None else None
    created = ConversationCreated(
        conversation_id=name,
        agent=agent,
        workspace=workspace,
        owner=parent.owner if parent else owner,
        delegated_by=parent.conversation_id if parent else None,
        depth=parent.depth + 1 if parent else 0,
        labels=above.branch.labels if above else (),
    )
    return created, replace(prompt_of(tools, told), caused_by=created.id)


def prompt_of(tools: tuple[ToolDefinition, ...], told: tuple[str, str]) -> SystemPromptEvent:
    """Return what a model is told before anything else: its work, its place, and its tools."""
    return SystemPromptEvent(system_prompt=told[0], tools=tools, dynamic_context=told[1])


def remembered(rules: Sequence[PermissionRule], known: Sequence[PermissionRule]) -> tuple[RuleAdded, ...]:
    """Return the events that add the rules of a workspace that a conversation does not have yet."""
    return tuple(RuleAdded(rule=rule, scope="project", source="environment") for rule in rules if rule not in known)
