"""The contents of requests and replies, besides controls and events."""

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
from ..storing import Gap

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
"""The pattern of a conversation's id."""

Name: TypeAlias = Annotated[str, Meta(pattern=NAME)]
EventJSON: TypeAlias = Annotated[msgspec.Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Event"})]
"""An event, as it is in the log."""

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
"""A time as in RFC 3339, with an offset from UTC: 2026-03-01T12:00:00Z."""

COUNT = "count"
"""A path segment in the place of a conversation's id. So no conversation may have this id."""


class _Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class CreateConversation(_Request, frozen=True, kw_only=True):
    """A new conversation. With a `message` the agent begins to work on it."""

    agent: Agent | None = None
    """None: the server's agent."""
    llm: AnyLLM | None = None
    """Replaces the model of the agent."""
    workspace: str | None = None
    """A directory below the server's workspaces; None: a new one."""
    id: Name | None = None
    title: Annotated[str, Meta(max_length=1000)] = ""
    tags: dict[str, str] = {}
    secrets: dict[str, str] = {}
    message: str | None = None


class ChangeConversation(_Request, frozen=True, kw_only=True):
    """A new title, or other tags; a field that is left out does not change."""

    title: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET
    tags: dict[str, str] | UnsetType = UNSET


class PendingAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action that waits for a person, or for its client. `held` is the code of the reason why a person is asked;
    `risk` is null if nobody rated the action, and `reason` says in words why it was rated so.
    """

    id: str
    tool_name: str
    arguments: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
    risk: SecurityRisk | None
    held: str
    reason: str = ""


class RunError(msgspec.Struct, frozen=True, kw_only=True):
    """The error that ended the last run; `code` is stable."""

    code: str
    detail: str
    retryable: bool


class PendingInput(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a running tool: a form to fill in, or an address to open."""

    id: str
    action_id: str
    message: str
    schema: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
    url: str
    asks: str
    """The MCP server that asks."""


class ConversationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as of `cursor`. `cost` is in USD, of the calls whose price is known.

    `title` is the title that it was given, or else the first line of the first message.
    """

    id: str
    status: Status
    """"crashed" if a crash interrupted it and it was not opened since; "damaged" if its log cannot be read."""
    title: str
    tags: dict[str, str]
    cursor: Cursor
    created: datetime | None
    updated: datetime
    owner: str | None
    parent: str | None
    """The conversation that this is a fork of."""
    delegated_by: str | None
    """The conversation that delegated work to this one."""
    model: str
    workspace: str
    """The path of its directory, on the server."""
    cost: float
    unpriced: int
    """Model calls of unknown price, which are not in `cost`."""
    prompt_tokens: int
    completion_tokens: int
    pending: tuple[PendingAction, ...]
    awaited: tuple[PendingAction, ...]
    """Calls of the client's own tools that have no result yet."""
    inputs: tuple[PendingInput, ...]
    """Open questions of tools to a person."""
    error: RunError | None
    answer: str | UnsetType | None = UNSET
    """The agent's final message, or that of its `finish`; null until then, and absent in lists."""


class ConversationPage(msgspec.Struct, frozen=True):
    """Conversations, the last written first; `next` is the `after` of the following page, null on the last one."""

    items: tuple[ConversationInfo, ...]
    next: str | None


class ConversationsCountQuery(_Request, frozen=True, kw_only=True):
    """A filter of conversations."""

    status: Status | None = None
    query: str = ""
    """Part of the title or the id, ignoring case."""
    tag: tuple[Annotated[str, Meta(pattern="^[a-z0-9]+:")], ...] = ()
    """`KEY:VALUE`; if given several times, all must match."""


class ConversationsQuery(ConversationsCountQuery, frozen=True, kw_only=True):
    """A filter of conversations, and a page."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str | None = None
    """`next` of the previous page."""


class ConversationCount(msgspec.Struct, frozen=True):
    """The number of conversations."""

    count: int


class EventsCountQuery(_Request, frozen=True, kw_only=True):
    """A filter of events: those with after < seq < before."""

    after: Seq = 0
    before: Seq | None = None
    type: Annotated[tuple[Annotated[str, Meta(pattern=r"^\w+$")], ...], Meta(extra={"commas": True})] = ()
    """Types of events, separated by commas."""
    source: Literal["user", "agent", "environment", "hook"] | None = None
    since: Time | None = None
    """Only events at this time or later."""
    until: Time | None = None
    """Only events before this time."""
    text: Annotated[str, Meta(max_length=1000)] = ""
    """Part of a message, a call or an observation, ignoring case."""
    epoch: Seq = 0
    """That of the cursor that `after` or `before` comes from. If the log has another one, the cursor has expired:
    events that were seen may be gone.
    """


class EventsQuery(EventsCountQuery, frozen=True, kw_only=True):
    """A filter of events: those with after < seq < before, in this order."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    order: Literal["asc", "desc"] = "asc"


class EventPage(msgspec.Struct, frozen=True):
    """Events. `next` is the `after` of the following page (`before`, if the order is "desc"), null on the last one.

    A page may have fewer events than requested, or none, and still be followed by another one.
    """

    items: tuple[EventJSON, ...]
    next: int | None
    cursor: Cursor
    """The current end of the conversation."""
    gaps: tuple[Gap, ...] = ()
    """The places of a damaged log that cannot be read; `items` has the intact events around them."""


class EventCount(msgspec.Struct, frozen=True):
    """The number of events. `next` is the `after` from which to continue counting, null if all were examined."""

    count: int
    next: int | None
    cursor: Cursor
    """The current end of the conversation."""


class StateQuery(_Request, frozen=True, kw_only=True):
    """The event after which the state is wanted."""

    at: Seq | None = None
    """The seq of the event; null: the last one."""
    epoch: Seq = 0
    """The epoch of the cursor that `at` comes from."""


class GoalInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's objective; its work is judged `max_iterations` times at most."""

    objective: str
    iterations: int
    """How often the work was judged."""
    max_iterations: int
    outcome: GoalStatus


class StateInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a conversation after the event at `cursor`."""

    cursor: Cursor
    status: ExecutionStatus
    title: str
    tags: dict[str, str]
    model: str
    cost: float
    unpriced: int
    """Model calls of unknown price, which are not in `cost`."""
    prompt_tokens: int
    completion_tokens: int
    steps: int
    """Model calls of the run, including those of the conversations that it delegated to."""
    pending: tuple[PendingAction, ...]
    awaited: tuple[PendingAction, ...]
    """Calls of the client's own tools that have no result yet."""
    inputs: tuple[PendingInput, ...]
    """Open questions of tools to a person."""
    error: RunError | None
    answer: str | None
    """The agent's final message at that point; null if there was none yet."""
    agent: Agent | None
    """The agent's configuration at that point."""
    rules: tuple[AddedRule, ...]
    """Permission rules in addition to the agent's, and where each came from."""
    goal: GoalInfo | None
    granted: float
    """USD granted in addition to the agent's limit."""
    secrets: dict[str, SavedSecret]
    """Secrets by name, without their values in the clear."""
    context: ContextUsage
    """What fills the model's context window."""


class PathQuery(_Request, frozen=True, kw_only=True):
    """A file or a directory of the workspace, relative to it; "" is the workspace itself."""

    path: Annotated[str, Meta(max_length=4096)] = ""


class OutputQuery(_Request, frozen=True, kw_only=True):
    """A piece of a command's output; `wait`: for how many seconds to wait for one that comes after it."""

    after: Annotated[int, Meta(ge=0)] = 0
    wait: Annotated[float, Meta(ge=0, le=60)] = 0.0


class OpenWorkspace(_Request, frozen=True, kw_only=True):
    """A directory to hold open, below the server's workspaces; null: a new one."""

    path: Annotated[str, Meta(max_length=4096)] | None = None


class HeldWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace that is held open. `path` is the directory in which commands begin, as they see it."""

    id: str
    path: str
    supports_pause: bool


class HeldWorkspaceList(msgspec.Struct, frozen=True):
    """The workspaces that are held open."""

    items: tuple[HeldWorkspace, ...]


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
    """Two events of the conversation, by their seqs."""

    since: Annotated[int, Meta(ge=1)]
    until: Annotated[int, Meta(ge=1)]


class BetweenPathQuery(BetweenQuery, frozen=True, kw_only=True):
    """Two events of the conversation, and a file or a directory of the workspace."""

    path: Annotated[str, Meta(max_length=4096)] = ""


class ToolList(msgspec.Struct, frozen=True):
    """The tools that an agent may name here."""

    items: tuple[ToolDefinition, ...]


class ModelsQuery(_Request, frozen=True, kw_only=True):
    """Words that must all be in a model's name, ignoring case."""

    query: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class SavedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its settings and its known properties; if there are several models, those of the first."""

    name: str
    """The name of the profile; "": the server's own agent has this model."""
    llm: AnyLLM
    known: KnownModel


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """Models that a conversation may have; `truncated` if more are known than are listed."""

    own: SavedModel | None
    """The model of the server's agent, with its address."""
    profiles: tuple[SavedModel, ...]
    items: tuple[KnownModel, ...]
    truncated: bool


class SearchQuery(_Request, frozen=True, kw_only=True):
    """Words that must all occur. Quotes make a phrase, and a star ends a prefix."""

    query: Annotated[str, Meta(min_length=1, max_length=1000)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["best", "newest"] = "best"


class SearchResults(msgspec.Struct, frozen=True):
    """The events that were found; `matches` are positions in `text`, as (start, end)."""

    items: tuple[Hit, ...]


class Health(msgspec.Struct, frozen=True):
    """The status of the server."""

    status: Literal["ok", "draining"] = "ok"


class ProjectsQuery(_Request, frozen=True, kw_only=True):
    """What was typed of a path, and how many directories are wanted."""

    path: Annotated[str, Meta(max_length=4096)] = ""
    """The beginning of a path; a relative one begins at the first root."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A directory in which a conversation may work."""

    path: str
    repository: bool
    """Whether it is a git repository."""
    branch: str
    """The branch of the repository; "" if it is on none."""


class ProjectList(msgspec.Struct, frozen=True, kw_only=True):
    """The directories in which a new conversation may work."""

    roots: tuple[str, ...]
    """The server's workspaces: all projects are below them."""
    recent: tuple[Project, ...]
    """Those of the client's latest conversations."""
    matching: tuple[Project, ...]
    """Those whose paths begin with `path`."""


class ServerAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent of conversations that are begun without their own; null if the server has none."""

    agent: Agent | None
    changed: tuple[str, ...]
    """What was changed here, such as "llm" and "mcp_servers/tracker"; all else is as the server was started."""


class ChangeServerAgent(_Request, frozen=True, kw_only=True):
    """Changes of the server's agent: fields of an `Agent` by name, and those to `reset` to what it was started with.

    Of `context` and `mcp_servers`, only the given members are changed; null removes one.
    """

    changes: dict[str, msgspec.Raw] = {}
    reset: tuple[str, ...] = ()


Source: TypeAlias = Literal["saved", "environment", "none"]


class ServerSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A variable with a key or another secret, without its value."""

    name: str
    provider: str
    """The provider of models whose key it is; "" for another secret."""
    source: Source
    """Whether it is saved here, comes from the server's environment, or is not there."""
    readable: bool
    """False if it was encrypted with a key that is not there: save it again."""


class ServerSecretList(msgspec.Struct, frozen=True):
    """The keys of providers, then other saved secrets."""

    items: tuple[ServerSecret, ...]


class NewServerSecret(_Request, frozen=True, kw_only=True):
    """A value, which cannot be read again."""

    value: Annotated[str, Meta(min_length=1, max_length=65536)]


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The server, its uptime in seconds, and the client's owner and scopes."""

    name: str
    version: str
    uptime: float
    agent: bool
    """Whether a conversation can begin without an agent of its own."""
    model: str | None
    """The model of the server's agent."""
    max_body: int
    max_upload: int
    """The maximum size of an uploaded file; `max_body` is that of a request's body. Both are in bytes."""
    owner: str | None
    scopes: tuple[str, ...]
    """The scopes of the client."""
