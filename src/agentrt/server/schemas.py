"""What requests and replies hold, besides controls and events."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ..context.usage import ContextUsage
from ..events import Cursor, ExecutionStatus
from ..ledger import AddedRule, GoalStatus
from ..listing import Hit
from ..llm.known_models import KnownModel
from ..specs import Agent, AnyLLM, SecurityRisk, ToolDefinition
from ..specs.secrets import SavedSecret

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
"""What a conversation may be called."""

Name: TypeAlias = Annotated[str, Meta(pattern=NAME)]
EventJSON: TypeAlias = Annotated[msgspec.Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Event"})]
"""An event as it stands in the log."""

Status: TypeAlias = Literal[
    "idle",
    "running",
    "paused",
    "waiting_for_confirmation",
    "waiting_for_client",
    "finished",
    "error",
    "stuck",
    "crashed",
    "damaged",
]

Seq: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]

Time: TypeAlias = Annotated[datetime, Meta(tz=True)]
"""As RFC 3339 has it, with an offset from UTC: 2026-03-01T12:00:00Z."""

COUNT = "count"
"""The part of a path that stands where a conversation's id does, so that no conversation may be called so."""


class _Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class CreateConversation(_Request, frozen=True, kw_only=True):
    """A new conversation. With a `message` the agent begins to work on it."""

    agent: Agent | None = None
    """None: that of the server."""
    workspace: str | None = None
    """A directory below those of the server; None: a new one."""
    id: Name | None = None
    title: Annotated[str, Meta(max_length=1000)] = ""
    tags: dict[str, str] = {}
    secrets: dict[str, str] = {}
    message: str | None = None


class ChangeConversation(_Request, frozen=True, kw_only=True):
    """A new title, or other tags; what is left out stays."""

    title: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET
    tags: dict[str, str] | UnsetType = UNSET


class PendingAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action that waits for a person; `held` says why, as a code, and `risk` is null where nobody rated it."""

    id: str
    tool_name: str
    arguments: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
    risk: SecurityRisk | None
    held: str


class RunError(msgspec.Struct, frozen=True, kw_only=True):
    """What ended the last run; `code` is stable."""

    code: str
    detail: str
    retryable: bool


class PendingInput(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a tool that runs: a form to be filled in, or an address to be opened."""

    id: str
    action_id: str
    message: str
    schema: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
    url: str
    asks: str
    """Who asks."""


class ConversationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as it stands at `cursor`; `cost` in USD, of the calls whose price is known.

    `title` is the one that it was given, else the first line of the first message.
    """

    id: str
    status: Status
    """"crashed" when it was interrupted by a crash and not opened since; "damaged" when its log cannot be read."""
    title: str
    tags: dict[str, str]
    cursor: Cursor
    created: datetime | None
    updated: datetime
    owner: str | None
    parent: str | None
    """The conversation that this is a fork of."""
    delegated_by: str | None
    """The conversation that this works for."""
    model: str
    workspace: str
    """The path of its directory, on the server."""
    cost: float
    unpriced: int
    """Model calls whose price nobody knows: `cost` is without them."""
    prompt_tokens: int
    completion_tokens: int
    pending: tuple[PendingAction, ...]
    awaited: tuple[PendingAction, ...]
    """The calls of its client's tools that have no result yet."""
    inputs: tuple[PendingInput, ...]
    """What tools have asked a person."""
    error: RunError | None
    answer: str | UnsetType | None = UNSET
    """The agent's final words, or the message of its `finish`; null until it gives them, and not there in lists."""


class ConversationPage(msgspec.Struct, frozen=True):
    """Conversations, those written last first; `next` is the `after` of the page that follows, null on the last."""

    items: tuple[ConversationInfo, ...]
    next: str | None


class ConversationsCountQuery(_Request, frozen=True, kw_only=True):
    """Which conversations."""

    status: Status | None = None
    query: str = ""
    """Part of the title or the id, in any case."""
    tag: tuple[Annotated[str, Meta(pattern="^[a-z0-9]+:")], ...] = ()
    """`KEY:VALUE`; given several times, all of them."""


class ConversationsQuery(ConversationsCountQuery, frozen=True, kw_only=True):
    """Which conversations."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str | None = None
    """`next` of the page before."""


class ConversationCount(msgspec.Struct, frozen=True):
    """How many conversations there are."""

    count: int


class EventsCountQuery(_Request, frozen=True, kw_only=True):
    """Which events: those with after < seq < before."""

    after: Seq = 0
    before: Seq | None = None
    type: Annotated[tuple[Annotated[str, Meta(pattern=r"^\w+$")], ...], Meta(extra={"commas": True})] = ()
    """Types of events, with commas."""
    source: Literal["user", "agent", "environment", "hook"] | None = None
    since: Time | None = None
    """Not those before this time."""
    until: Time | None = None
    """Only those before this time."""
    text: Annotated[str, Meta(max_length=1000)] = ""
    """Part of what was said, called or observed, in any case."""
    epoch: Seq = 0
    """That of the cursor that `after` or `before` comes from: another one means that what was seen may be gone."""


class EventsQuery(EventsCountQuery, frozen=True, kw_only=True):
    """Which events: those with after < seq < before, in this order."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    order: Literal["asc", "desc"] = "asc"


class EventPage(msgspec.Struct, frozen=True):
    """Events. `next` is the `after` of the page that follows (`before`, when they go back), null on the last.

    A page may have fewer events than were asked for, or none, and all the same be followed by another.
    """

    items: tuple[EventJSON, ...]
    next: int | None
    cursor: Cursor
    """Where the conversation stands now."""


class EventCount(msgspec.Struct, frozen=True):
    """How many events there are. `next` is the `after` from which to count on, null when all were looked at."""

    count: int
    next: int | None
    cursor: Cursor
    """Where the conversation stands now."""


class StateQuery(_Request, frozen=True, kw_only=True):
    """Which state."""

    at: Seq | None = None
    """After the event of this seq; null: now."""
    epoch: Seq = 0
    """That of the cursor that `at` comes from."""


class GoalInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent is to reach; it is judged `max_iterations` times at most."""

    objective: str
    iterations: int
    """How often it was judged."""
    max_iterations: int
    outcome: GoalStatus


class StateInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as it stood after the event at `cursor`."""

    cursor: Cursor
    status: ExecutionStatus
    title: str
    tags: dict[str, str]
    model: str
    cost: float
    unpriced: int
    """Model calls whose price nobody knows: `cost` is without them."""
    prompt_tokens: int
    completion_tokens: int
    steps: int
    """Model calls of the run, with those of conversations that it delegated to."""
    pending: tuple[PendingAction, ...]
    awaited: tuple[PendingAction, ...]
    """The calls of its client's tools that have no result yet."""
    inputs: tuple[PendingInput, ...]
    """What tools have asked a person."""
    error: RunError | None
    answer: str | None
    """The agent's final words then; null while it had not given them."""
    agent: Agent | None
    """As it was configured then."""
    rules: tuple[AddedRule, ...]
    """Permission rules on top of those of the agent, and where each came from."""
    goal: GoalInfo | None
    granted: float
    """USD on top of the agent's limit."""
    secrets: dict[str, SavedSecret]
    """By name; none with its value in the clear."""
    context: ContextUsage
    """What fills the model's context window."""


class PathQuery(_Request, frozen=True, kw_only=True):
    """A file or a directory of the workspace, relative to it; "" is the workspace itself."""

    path: Annotated[str, Meta(max_length=4096)] = ""


class DirectoryQuery(PathQuery, frozen=True, kw_only=True):
    """A directory of the workspace; `at`: as it was after that event."""

    at: Annotated[int, Meta(ge=1)] | None = None


class FilePathQuery(_Request, frozen=True, kw_only=True):
    """A file of the workspace, relative to it."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]


class FileQuery(FilePathQuery, frozen=True, kw_only=True):
    """A file of the workspace; `at`: as it was after that event."""

    at: Annotated[int, Meta(ge=1)] | None = None


class BetweenQuery(_Request, frozen=True, kw_only=True):
    """Two events of the conversation, by their numbers."""

    since: Annotated[int, Meta(ge=1)]
    until: Annotated[int, Meta(ge=1)]


class BetweenPathQuery(BetweenQuery, frozen=True, kw_only=True):
    """Two events of the conversation, and a file or a directory of the workspace."""

    path: Annotated[str, Meta(max_length=4096)] = ""


class ToolList(msgspec.Struct, frozen=True):
    """The tools that an agent may name here."""

    items: tuple[ToolDefinition, ...]


class ModelsQuery(_Request, frozen=True, kw_only=True):
    """Words that the name of a model has, all of them, in any case."""

    query: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class SavedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its settings, and what is known of it; of several, of the first."""

    name: str
    """That of the profile; "": the server's own agent has it."""
    llm: AnyLLM
    known: KnownModel


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """Models that a conversation may have; `truncated` where more are known than are listed."""

    own: SavedModel | None
    """That of the server's agent, with its address."""
    profiles: tuple[SavedModel, ...]
    items: tuple[KnownModel, ...]
    truncated: bool


class SearchQuery(_Request, frozen=True, kw_only=True):
    """Words, all of which must occur; "in quotes" a phrase, with a star the beginning of a word."""

    query: Annotated[str, Meta(min_length=1, max_length=1000)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["best", "newest"] = "best"


class SearchResults(msgspec.Struct, frozen=True):
    """Events that were found; `matches` are places in `text`, from and to."""

    items: tuple[Hit, ...]


class Health(msgspec.Struct, frozen=True):
    """How the server is."""

    status: Literal["ok", "draining"] = "ok"


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What serves, for how long (seconds), and to whom."""

    name: str
    version: str
    uptime: float
    agent: bool
    """Whether a conversation can begin without an agent of its own."""
    model: str | None
    """That of the server's agent."""
    max_body: int
    max_upload: int
    """Bytes of a request's body, and of a file that is uploaded."""
    owner: str | None
    scopes: tuple[str, ...]
    """Of whoever asks."""
