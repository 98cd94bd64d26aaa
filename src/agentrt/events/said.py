"""Messages, actions and results: what the model sees, and the configuration that it sees them with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from ..specs import Agent, BlobReference, Content, SecurityRisk, Thinking, ToolDefinition, WorkspaceSpec
from ..specs.context import ContextProblem, ContextSource, Offer
from ..specs.flow import Label
from ..specs.skill import Skill
from ..specs.summary import Summary
from .base import Event, Id, Source, mapping_of
from .control import SecretsChanged

SCHEMA_VERSION = 4


class ConversationCreated(Event, frozen=True, kw_only=True):
    """The first event: everything that is needed to resume. In a fork it follows the events that are shared with the
    parent.
    """

    conversation_id: str
    agent: Agent
    workspace: WorkspaceSpec
    schema_version: int = SCHEMA_VERSION
    owner: str | None = None
    parent: str | None = None
    """The conversation that this one is a fork of."""
    delegated_by: str | None = None
    """The conversation that delegated this one; `depth` is the number of conversations above it."""
    depth: int = 0
    labels: tuple[Label, ...] = ()
    """The origins of untrusted content that the delegating conversation had seen: the task may come from there."""


class SystemPromptEvent(Event, frozen=True, kw_only=True):
    """The instructions, and the tools as the model sees them."""

    source: Source = "agent"
    system_prompt: str
    tools: tuple[ToolDefinition, ...]
    dynamic_context: str = ""
    """The part after the instructions that is specific to this conversation: the place, the repository, the skills. The
    part before it is the same in many conversations, so that providers cache it.
    """


class ContextResolved(Event, frozen=True, kw_only=True):
    """The context of an agent was read, at the beginning or when a plugin was loaded: all that it is told besides its
    task.

    The context applies from here on, even if the files change. `texts` hold the texts of the skills, JSON objects by
    name; in `skills` the texts are empty.
    """

    directory: str = ""
    """The workspace: paths that activate a skill are relative to it."""
    sources: tuple[ContextSource, ...] = ()
    skills: tuple[Skill, ...] = ()
    offers: tuple[Offer, ...] = ()
    problems: tuple[ContextProblem, ...] = ()
    texts: tuple[BlobReference, ...] = ()


class ContextChanged(Event, frozen=True, kw_only=True):
    """Files of the agent's context have changed since they were read; the context stays, and the agent is told."""

    paths: tuple[str, ...]


class SkillActivated(Event, frozen=True, kw_only=True):
    """A skill applies from here on: `cause` is the message, or the action, that activated it.

    `content` is what the model is told with the next call; empty if the result of `cause` already contains it.
    """

    skill: str
    cause: Id
    content: tuple[Content, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    """In events of older versions: the only tools that may be called until the run ends; empty: all."""
    approved_tools: tuple[str, ...] = ()
    """Tools whose calls need no confirmation until the run ends."""
    disallowed_tools: tuple[str, ...] = ()
    """Tools that may not be called until the run ends."""


class MessageEvent(Event, frozen=True, kw_only=True):
    """A message of a user, the agent or the environment; `partial` text was cut by an interrupt.

    A `complaint` tells the model what was wrong with its reply. `skills` are those that the words of the message
    activate; the log finds them when it takes the message.
    """

    content: tuple[Content, ...]
    partial: bool = False
    complaint: bool = False
    skills: tuple[str, ...] = ()
    reasoning: str = ""
    thinking: Thinking | None = None
    llm_response_id: str | None = None
    labels: tuple[Label, ...] = ()
    """The origins of untrusted content in it."""
    tokens: int = 0
    """The estimated tokens of its content, counted when the log takes it."""


class ActionEvent(Event, frozen=True, kw_only=True):
    """A tool call that the model asked for.

    Only the first call of a batch (the calls of one `llm_response_id`) carries `thought` and `thinking`. The arguments
    are a JSON object; `malformed` is the model's text if that was another object or none. `asked_as` is the name that
    the model gave if the tool has another name. `resources` are keys: calls that share a key run in the order asked;
    "*" is shared with all. `security_risk` is the model's own rating, `summary` its own words for what the call does. A
    call with a `skill` is not the model's, and the model does not see it: it is a command in the text of that skill. A
    call `within` another action is not the model's either: the code of that action made it and gets its result.
    `through` is the tool that the model called in order to call this one.
    """

    source: Source = "agent"
    tool_name: str
    tool_call_id: str
    arguments_json: msgspec.Raw = msgspec.field(name="arguments")
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

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments by name."""
        return mapping_of(bytes(self.arguments_json))


class ObservationEvent(Event, frozen=True, kw_only=True):
    """A tool's result. The details are the tool's own JSON (exit code, diff), not seen by the model.

    `labels` are the origins of untrusted content in it. Results with the same `fingerprint` say the same; the
    fingerprint 0 is that of a result which only reports that something still runs.
    """

    action_id: Id
    tool_name: str
    tool_call_id: str
    content: tuple[Content, ...]
    is_error: bool = False
    details_json: msgspec.Raw = msgspec.field(name="details", default=msgspec.Raw(b"null"))
    labels: tuple[Label, ...] = ()
    fingerprint: int = 0
    found: tuple[str, ...] = ()
    """Tools that a search has found: they can be called from here on."""
    skills: tuple[str, ...] = ()
    """The skills that the files named by the call activate; the log finds them when it takes the result."""
    tokens: int = 0
    """The estimated tokens of its content, counted when the log takes it."""

    @property
    def details(self) -> Mapping[str, Any]:
        """The tool's own data by name; empty if it has none."""
        return mapping_of(bytes(self.details_json))


class UserRejectObservation(Event, frozen=True, kw_only=True):
    """A person, a hook or a rule refused an action; the model sees the reason."""

    source: Source = "user"
    action_id: Id
    tool_name: str
    tool_call_id: str
    rejection_reason: str = "Rejected by the user."


class AgentErrorEvent(Event, frozen=True, kw_only=True):
    """An action without an observation; `error` is what the model is told instead."""

    source: Source = "agent"
    action_id: Id
    tool_name: str
    tool_call_id: str
    error: str


class CondensationSummaryEvent(Event, frozen=True, kw_only=True):
    """Stands in the view for the events that a condensation forgot; made from the condensation, never stored."""

    summary: str
    facts: Summary | None = None


class ResourceLost(Event, frozen=True, kw_only=True):
    """A sleep or a crash ended something, such as a shell; the model is told."""

    tool_name: str
    detail: str
    revoked: tuple[Id, ...] = ()
    """The actions that have not begun and may depend on what was lost. They are rated again. If a person had approved
    them or was asked, the person is asked again: an answer to the earlier question does not count.
    """


class ToolsChanged(Event, frozen=True, kw_only=True):
    """An MCP server offers these tools from here on, in place of its earlier tools; none if the server is not
    available.
    """

    server: str
    tools: tuple[ToolDefinition, ...] = ()
    problem: str = ""
    """Why the server is not available."""
    told: str = ""
    """What the model is told about the change; with "" it only finds the tools."""
    prompts: tuple[str, ...] = ()
    """The prompts of the server: a message that begins with "/server:prompt" uses one."""
    changed: tuple[str, ...] = ()
    """The tools that describe themselves differently than when they were first seen."""
    deferred: bool = False
    """Whether there are too many tools to offer with each call: the model finds them with `tool_search`."""


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
"""The events that the model sees: each has a place in the view (`state/seeing.py`) and a message
(`context/messages.py`).
"""
ActionResult: TypeAlias = ObservationEvent | UserRejectObservation | AgentErrorEvent
