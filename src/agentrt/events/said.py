"""What is said and done: what the model sees, and the configuration that it sees it with."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..specs import Agent, BlobReference, Content, SecurityRisk, Thinking, ToolDefinition, Workspace
from ..specs.context import ContextProblem, ContextSource, Offer
from ..specs.flow import Label
from ..specs.skill import Skill
from ..specs.summary import Summary
from .base import Event, Id, Source
from .control import SecretsChanged

SCHEMA_VERSION = 4


class ConversationCreated(Event, frozen=True, kw_only=True):
    """The first event: all that resuming needs. That of a fork follows on what it shares with its parent."""

    conversation_id: str
    agent: Agent
    workspace: Workspace
    schema_version: int = SCHEMA_VERSION
    owner: str | None = None
    parent: str | None = None
    """The conversation that this is a fork of."""
    delegated_by: str | None = None
    """The conversation that this works for, and how many there are above it."""
    depth: int = 0
    labels: tuple[Label, ...] = ()
    """What the one that delegated had seen that nobody vouches for: its task may come from there."""


class SystemPromptEvent(Event, frozen=True, kw_only=True):
    """The instructions, and the tools as the model sees them."""

    source: Source = "agent"
    system_prompt: str
    tools: tuple[ToolDefinition, ...]
    dynamic_context: str = ""
    """What follows on the instructions and is of this conversation alone: the place, the repository, the skills. What
    stands before it is the same in many conversations, so that providers cache it.
    """


class ContextResolved(Event, frozen=True, kw_only=True):
    """What an agent is told besides its task was read, at the beginning or when a plugin was loaded.

    It holds from here on, whatever becomes of the files. `texts` hold the texts of the skills, JSON objects by name; in
    `skills` they are empty.
    """

    directory: str = ""
    """The workspace, from which the paths go on that activate a skill."""
    sources: tuple[ContextSource, ...] = ()
    skills: tuple[Skill, ...] = ()
    offers: tuple[Offer, ...] = ()
    problems: tuple[ContextProblem, ...] = ()
    texts: tuple[BlobReference, ...] = ()


class ContextChanged(Event, frozen=True, kw_only=True):
    """Files that the agent was told from are not as they were then; what it was told stays, and it is told so."""

    paths: tuple[str, ...]


class SkillActivated(Event, frozen=True, kw_only=True):
    """A skill holds from here on: `cause` is the message, or the action, that activated it.

    `content` is what the model is told with the next call; nothing where the result of `cause` has told it.
    """

    skill: str
    cause: Id
    content: tuple[Content, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    """The only tools that may be called until the run ends; empty: all."""


class MessageEvent(Event, frozen=True, kw_only=True):
    """What a user, the agent or the environment says; `partial` text was cut by an interrupt.

    A `complaint` tells the model what was wrong with its reply. `skills` are those that its words activate, as the log
    has found when it took it.
    """

    content: tuple[Content, ...]
    partial: bool = False
    complaint: bool = False
    skills: tuple[str, ...] = ()
    reasoning: str = ""
    thinking: Thinking | None = None
    llm_response_id: str | None = None
    labels: tuple[Label, ...] = ()
    """Where it comes from, when nobody vouches for what it says."""
    tokens: int = 0
    """About how many its content has, as the log has found when it took it."""


class ActionEvent(Event, frozen=True, kw_only=True):
    """A tool call that the model asked for.

    Only the first of a batch (the calls of one `llm_response_id`) carries `thought` and `thinking`. `arguments` is a
    JSON object, `malformed` the model's text where that was another one or none, `asked_as` the name that it gave where
    the tool has another. `resources` are keys: calls that share one run in the order asked; "*" is shared with all.
    `security_risk` is the model's own rating, `summary` its own words for what the call does. A call with a `skill` is
    none of the model's, which does not see it: it is a command in that skill's text. Nor is one `within` another
    action, whose code has made it and is given its result. `through` is the tool that the model has called to call
    this one.
    """

    source: Source = "agent"
    tool_name: str
    tool_call_id: str
    arguments: msgspec.Raw
    llm_response_id: str
    thought: str = ""
    reasoning: str = ""
    thinking: Thinking | None = None
    malformed: str | None = None
    asked_as: str | None = None
    resources: tuple[str, ...] = ()
    security_risk: SecurityRisk = SecurityRisk.UNKNOWN
    summary: str = ""
    skill: str = ""
    through: str = ""
    within: Id | None = None


class ObservationEvent(Event, frozen=True, kw_only=True):
    """A tool's result. `details` is the tool's own JSON (exit code, diff), not seen by the model.

    `labels` say that it holds content that nobody vouches for, and from where. Results with the same `fingerprint`
    say the same; 0 is that of one that only says that something still runs.
    """

    action_id: Id
    tool_name: str
    tool_call_id: str
    content: tuple[Content, ...]
    is_error: bool = False
    details: msgspec.Raw = msgspec.Raw(b"null")
    labels: tuple[Label, ...] = ()
    fingerprint: int = 0
    found: tuple[str, ...] = ()
    """Tools that can be called from here on: a search has found them."""
    tokens: int = 0
    """About how many its content has, as the log has found when it took it."""


class UserRejectObservation(Event, frozen=True, kw_only=True):
    """A person, a hook or a rule refused an action; the model sees the reason."""

    source: Source = "user"
    action_id: Id
    tool_name: str
    tool_call_id: str
    rejection_reason: str = "Rejected by the user."


class AgentErrorEvent(Event, frozen=True, kw_only=True):
    """An action that gave no observation: what the model is told instead."""

    source: Source = "agent"
    action_id: Id
    tool_name: str
    tool_call_id: str
    error: str


class CondensationSummaryEvent(Event, frozen=True, kw_only=True):
    """Stands in the view for what a condensation forgot; made from it, never stored."""

    summary: str
    facts: Summary | None = None


class ResourceLost(Event, frozen=True, kw_only=True):
    """A sleep or a crash took something away; the model is told."""

    tool_name: str
    detail: str


class ToolsChanged(Event, frozen=True, kw_only=True):
    """An MCP server offers these tools from here on, in the place of those before; none where it is not there."""

    server: str
    tools: tuple[ToolDefinition, ...] = ()
    problem: str = ""
    """Why it is not there."""
    told: str = ""
    """What the model is told of it; "": nothing, it only finds the tools."""
    prompts: tuple[str, ...] = ()
    """The prompts that it has: a message that begins with "/server:prompt" is answered by one."""
    changed: tuple[str, ...] = ()
    """The tools that say something else of themselves than when they were first seen."""
    deferred: bool = False
    """Whether they are too many to be offered with each call: the model finds them with `tool_search`."""


class ConversationStateUpdateEvent(Event, frozen=True, kw_only=True):
    """Part of the configuration changed: `key` is a field of `Agent`, `value` its new JSON."""

    key: str
    value: msgspec.Raw


ShownEvent: TypeAlias = (
    SystemPromptEvent
    | MessageEvent
    | ActionEvent
    | ObservationEvent
    | UserRejectObservation
    | AgentErrorEvent
    | ResourceLost
    | ContextChanged
    | SkillActivated
    | ToolsChanged
)
SaidEvent: TypeAlias = ShownEvent | ContextResolved | ConversationCreated | ConversationStateUpdateEvent
ModelVisible: TypeAlias = ShownEvent | SecretsChanged | CondensationSummaryEvent
"""What the model sees: each has a place in the view (`state/seeing.py`) and a message (`context/messages.py`)."""
ActionResult: TypeAlias = ObservationEvent | UserRejectObservation | AgentErrorEvent
