"""The parts of a state. All of them are immutable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from ..chain import Chain
from ..events import (
    ActionEvent,
    ContextResolved,
    ConversationCreated,
    ConversationErrorEvent,
    ExecutionStatus,
    InputRequested,
    SystemPromptEvent,
    ToolsChanged,
)
from ..ledger import Child, GoalStatus, Ledger
from ..specs import Agent, Durability, SecurityRisk, ToolDefinition
from ..specs.context import Offer
from ..specs.deferral import search_tools
from ..specs.flow import Label, Sink

_ANY = msgspec.Raw(b"{}")


class Seen(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A place in the view: an event that the model sees. Its content stays in the log, under its seq."""

    seq: int
    id: str
    type: str
    tool_name: str = ""
    action_id: str = ""
    """The id of the action, for a result."""
    answer: bool = False
    """Whether the agent ends its turn with it: its message, or the result of `finish`."""
    fingerprint: int = 0
    """A hash to find repetitions, of an action, a result, or a complaint about an invalid reply. Equal contents have
    equal fingerprints. 0: not compared.
    """
    user: bool = False
    """Whether it is a user's message."""
    tokens: int = 0
    """Its approximate number of tokens in a prompt."""
    thinks: bool = False
    """Whether it carries a provider's record of the model's reasoning, which later events need."""
    masked: bool = False
    """Whether a condensation removed its output."""
    stands: str = ""
    """What its text keeps in force: a skill, as `skill:NAME`, or the tool whose last result stays. Of equal ones, the
    newest counts.
    """


class Standing(msgspec.Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """The status of an action without a result; `command` is the execution in flight."""

    risk: SecurityRisk | None = None
    approved: bool = False
    command: str | None = None
    attempt: int = 0
    sinks: tuple[Sink, ...] = ()
    """The sinks that it reaches, such as the network."""
    labels: tuple[Label, ...] = ()
    """The sources of untrusted content in its result."""
    causes: tuple[Label, ...] = ()
    """The sources of untrusted content that the model had seen when it requested the action."""
    hooked: bool = False
    """Whether the hooks before it have run."""
    asked: bool = False
    """Whether one of these hooks requires confirmation."""
    held: str = ""
    """The code of the reason for which confirmation is pending; "" if none is."""
    files: dict[str, str] = {}
    """The files that it runs, as they were when it was rated."""
    revised: int = 0
    """The seq of the event that last rewrote its arguments; 0: they are the model's own."""
    awaited: bool = False
    """Whether a client was asked for its result."""
    expires: float = 0.0
    """The time at which it fails without a result, in seconds since 1970; 0: never."""
    lost: bool = False
    """Whether it was running in a process that has ended, or in a conversation that was left."""
    restarted: str = ""
    """The tool whose shell, kernel, browser or server was lost since a person approved the action or was asked."""
    outdated: bool = False
    """Whether the pending question is older than that loss: an answer has the action rated and asked again."""
    reason: str = ""
    """Why it was rated so, in words."""


class Pending(Standing, frozen=True, gc=False):
    """An action without a result."""

    action: ActionEvent


Condensing: TypeAlias = Literal["", "needed", "asked"]
Check: TypeAlias = Literal["critic", "goal", "stop"]


class Working(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="working"):
    """The agent has something to do, or has no message yet."""

    unjudged: bool = False
    """Whether there are actions since the last model call that a critic of all actions has not judged."""


class Calling(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="calling"):
    """A model call is in flight."""

    command: str


class Ending(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ending"):
    """The agent has given its final answer; the final checks follow."""

    passed: tuple[Check, ...] = ()
    """The final checks that are done."""


class Ended(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ended"):
    """The run has ended with that answer."""


class Inner(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A call made by the code of an action: its id and seq, the action's id, and the seq of its result."""

    id: str
    seq: int
    within: str
    result: int = 0
    """0: no result yet."""


Phase: TypeAlias = Working | Calling | Ending | Ended


class Activation(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A skill that is about to be activated, by the message or action `cause`."""

    skill: str
    cause: str
    calls: tuple[tuple[str, int, int], ...] = ()
    """The commands in its text, once requested: the id of each action, its seq, and the seq of its result (0: none
    yet).
    """


class Progress(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The progress of a branch, except for its view and pending actions."""

    queued: tuple[Seen, ...] = ()
    """Events since the last model call began; they join the view when the next one begins."""
    phase: Phase = Working()
    condense: Condensing = ""
    """The reason to condense the view before the next model call: it is too long, or somebody requested it."""
    cut: bool = False
    """Whether an interrupt was logged: running work may only be closed."""
    steps: int = 0
    """Model calls since the run began, including those of children (delegated conversations)."""
    labels: tuple[Label, ...] = ()
    """The sources of untrusted content in the view."""
    unheard: tuple[str, ...] = ()
    """Ids of user messages that hooks have not seen yet."""
    done: tuple[str, ...] = ()
    """Ids of actions with a result that hooks have not seen yet."""
    judged: int = 0
    """How often the critic has rejected the finished work in this run."""
    denied: int = 0
    """How often hooks kept the agent from finishing since its last other action."""
    nudged: int = 0
    """The seq at which the agent was last warned that it repeats itself."""
    rearmed: int = 0
    """The seq at which a stuck agent was told to go on; repetitions before it do not count."""
    activating: tuple[Activation, ...] = ()
    """Skills that are about to be activated."""
    activated: tuple[str, ...] = ()
    """Skills that were activated by a word or a path; the model still sees their texts."""
    allowed: tuple[tuple[str, ...], ...] = ()
    """Lists of the tools to which skills of older logs restrict the agent until the run ends; all lists apply."""
    tokens: int = 0
    """The approximate number of tokens of the view."""
    refused: int = 0
    """The size in tokens of the last view that was too long for the model; 0: none, or a later view was accepted."""
    condensed: tuple[int, int] = (0, 0)
    """The number of events and tokens of the view, including queued events, after the last condensation."""
    inputs: tuple[InputRequested, ...] = ()
    """The open questions of running actions to the user."""
    found: tuple[str, ...] = ()
    """Names of deferred tools that a search has found."""
    inner: tuple[Inner, ...] = ()
    """Calls made by code since the last model call."""
    approved: tuple[str, ...] = ()
    """The tools that skills approve in advance, until the run ends."""
    disallowed: tuple[str, ...] = ()
    """The tools that skills forbid, until the run ends."""

    @property
    def limited(self) -> bool:
        """Whether skills approve or forbid tools."""
        return bool(self.allowed or self.approved or self.disallowed)


class Branch(Progress, frozen=True, gc=False):
    """The half of the state that a rewind resets."""

    view: Chain[Seen] = Chain()
    """The places of the events that the model sees, in order."""
    pending: tuple[Pending, ...] = ()

    @property
    def call(self) -> str | None:
        """The command of the model call in flight."""
        return self.phase.command if type(self.phase) is Calling else None


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A branch after event `seq`, without pending actions: a place to rewind to."""

    seq: int
    branch: Branch
    answer: str | None = None
    """The value of `State.answer` at that place."""


def by_name(tools: tuple[ToolDefinition, ...]) -> Mapping[str, ToolDefinition]:
    """Return tools by their names. A table is made once for each tuple, as long as it is in use."""
    found = _tables.get(id(tools))
    if found is None or found[0] is not tools:
        if len(_tables) >= _MOST_TABLES:
            _tables.clear()
        # of tools with one name, the first one counts
        found = _tables[id(tools)] = (tools, {tool.name: tool for tool in reversed(tools)})
    return found[1]


_MOST_TABLES = 1_000
_tables = dict[int, tuple[tuple[ToolDefinition, ...], Mapping[str, ToolDefinition]]]()


class State(msgspec.Struct, frozen=True, gc=False):
    """The state of a conversation after its first `seq` events."""

    seq: int = 0
    epoch: int = 0
    durability: Durability = Durability.COMMIT
    created: ConversationCreated | None = None
    agent: Agent | None = None
    prompt: SystemPromptEvent | None = None
    servers: dict[str, ToolsChanged] = {}
    """The last known tools of each MCP server, by server name."""
    context: ContextResolved | None = None
    """The agent's instructions besides its task, with their sources."""
    status: ExecutionStatus = ExecutionStatus.IDLE
    error: ConversationErrorEvent | None = None
    answer: str | None = None
    """The agent's final message, or the message of its `finish` call. None until there is one, and again from the next
    message or model call on.
    """
    branch: Branch = Branch()
    ledger: Ledger = Ledger()
    implied: bool = False
    """Whether the run began under a schema version before 4; then no event records its end."""
    rewound: int = 0
    """The seq of the last rewind; 0: none."""
    checkpoints: Chain[Checkpoint] = Chain()
    """All places to rewind to, on all branches, in the order of their seqs."""

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools offered to the model: the agent's own tools, the search tools, then the tools of its MCP servers by
        server name.
        """
        if self.prompt is None or not self.servers:
            return self.prompt.tools if self.prompt is not None else ()
        shown = (self.servers[name] for name in sorted(self.servers) if not self.servers[name].deferred)
        return (*self.prompt.tools, *self.searching, *(tool for server in shown for tool in server.tools))

    @property
    def searching(self) -> tuple[ToolDefinition, ...]:
        """The tools that find and call deferred tools; empty if there are none."""
        deferred = {name: len(one.tools) for name, one in self.servers.items() if one.deferred}
        return search_tools(deferred)

    @property
    def deferred(self) -> dict[str, bool]:
        """The names of deferred tools (found by a search before they are called), each with whether it was found."""
        found = self.branch.found
        servers = (server for server in self.servers.values() if server.deferred)
        return {tool.name: tool.name in found for server in servers for tool in server.tools}

    def definition(self, name: str) -> ToolDefinition:
        """Return the definition of a tool; for a tool that the agent does not have, one with only its name."""
        if self.prompt is not None and (found := by_name(self.prompt.tools).get(name)) is not None:
            return found
        if self.servers:
            for server in self.servers.values():
                if (found := by_name(server.tools).get(name)) is not None:
                    return found
            for found in self.searching:
                if found.name == name:
                    return found
        return ToolDefinition(name=name, description="", parameters=_ANY)

    @property
    def spec(self) -> Agent:
        """The agent in its current configuration; requires the first event of the log."""
        assert self.agent is not None
        return self.agent

    @property
    def unagreed(self) -> tuple[Offer, ...]:
        """The programs of a project or a plugin that do not run, because nobody has agreed to them yet."""
        offers = self.context.offers if self.context is not None else ()
        return tuple(offer for offer in offers if not offer.agreed and offer.digest not in self.ledger.agreed)

    @property
    def goal_status(self) -> GoalStatus | None:
        """The status of the goal; None if there is none."""
        goal = self.ledger.goal
        if goal is None:
            return None
        if goal.outcome is not None:
            return goal.outcome
        stopped = self.status in (ExecutionStatus.PAUSED, ExecutionStatus.ERROR, ExecutionStatus.STUCK)
        return GoalStatus.INTERRUPTED if stopped else GoalStatus.RUNNING

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The commands that have begun and have no outcome yet."""
        pending = self.branch.pending
        executions = tuple([p.command for p in pending if p.command is not None]) if pending else ()
        return executions if self.branch.call is None else (self.branch.call, *executions)

    @property
    def background(self) -> dict[str, Child]:
        """The conversations that work for this one in the background, by id."""
        children = self.ledger.children
        return {name: child for name, child in children.items() if child.open and child.background} if children else {}

    @property
    def at_rest(self) -> bool:
        """Whether nothing runs, and nothing will until a person acts."""
        if self.status is ExecutionStatus.RUNNING:
            return False
        if self.status.waits:
            return True
        children = self.ledger.children.values()
        resting = {child.action_id for child in children if child.status is not ExecutionStatus.RUNNING}
        if any(child.status is ExecutionStatus.RUNNING for child in self.background.values()):
            return False
        here = self.branch
        resting |= {p.action.within for p in here.pending if p.command is None and p.action.within is not None}
        at_work = any(p.command is not None and p.action.id not in resting for p in here.pending)
        return here.call is None and not here.cut and not at_work
