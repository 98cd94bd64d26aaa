"""What a state is made of. All of it is immutable."""

from __future__ import annotations

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
    """Of a result, the action that it answers."""
    answer: bool = False
    """Whether the agent ends its turn with it: its message, or the result of `finish`."""
    fingerprint: int = 0
    """Of an action, of its result, and of what is said of a reply that was none: those that say the same have the same
    one. 0: it counts for nothing.
    """
    user: bool = False
    """Whether it is a user's message."""
    tokens: int = 0
    """About how many it takes in a prompt."""
    thinks: bool = False
    """Whether a provider's record of what the model thought goes back with it: what follows on it needs that."""
    masked: bool = False
    """Whether its output was taken out by a condensation."""


class Standing(msgspec.Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """How an action without a result stands; `command` is the execution in flight."""

    risk: SecurityRisk | None = None
    approved: bool = False
    command: str | None = None
    attempt: int = 0
    sinks: tuple[Sink, ...] = ()
    """Where its effect goes."""
    labels: tuple[Label, ...] = ()
    """What its result will hold that nobody vouches for."""
    causes: tuple[Label, ...] = ()
    """What the model had seen of that kind when it asked for it."""
    hooked: bool = False
    """Whether the hooks that come before it have run."""
    asked: bool = False
    """Whether one of them wants a person's word."""
    held: str = ""
    """Why a person is being asked about it, as a code; "" when nobody is."""
    files: dict[str, str] = {}
    """The files that it runs, as they were when it was rated."""
    revised: int = 0
    """The seq of the event that last rewrote its arguments; 0: they are the model's own."""
    awaited: bool = False
    """Whether a client was asked for its result."""
    expires: float = 0.0
    """When it has failed without one, in seconds since 1970; 0: never."""
    lost: bool = False
    """Whether it was at work in a process that has ended, or in a conversation that was left."""


class Pending(Standing, frozen=True, gc=False):
    """An action without a result."""

    action: ActionEvent


Condensing: TypeAlias = Literal["", "needed", "asked"]
Check: TypeAlias = Literal["critic", "goal", "stop"]


class Working(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="working"):
    """The agent has something to do, or nothing was said to it yet."""

    unjudged: bool = False
    """Whether something was done since the last model call that a critic of all actions has not judged."""


class Calling(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="calling"):
    """A model call is in flight."""

    command: str


class Ending(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ending"):
    """The agent has had its last word."""

    passed: tuple[Check, ...] = ()
    """What has had its say in that since."""


class Ended(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ended"):
    """A run has ended with that word."""


class Inner(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A call that the code of an action has made: its id and seq, the action's id, and the seq of its result."""

    id: str
    seq: int
    within: str
    result: int = 0
    """0: it has none yet."""


Phase: TypeAlias = Working | Calling | Ending | Ended


class Activation(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A skill that is about to be activated, by the message or action `cause`."""

    skill: str
    cause: str
    calls: tuple[tuple[str, int, int], ...] = ()
    """The commands in its text, once they were asked for: each action, its seq, and that of its result, 0 before."""


class Progress(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How far a branch has come, but for its view and what is pending."""

    queued: tuple[Seen, ...] = ()
    """What came since the last model call began; it joins the view when the next one does."""
    phase: Phase = Working()
    condense: Condensing = ""
    """Why the view is to be made shorter before the next model call: it does not fit, or somebody asked for that."""
    cut: bool = False
    """An interrupt was logged: what is in flight may only be closed."""
    steps: int = 0
    """Model calls since the run began, with those of children."""
    labels: tuple[Label, ...] = ()
    """What the view holds that nobody vouches for."""
    unheard: tuple[str, ...] = ()
    """Messages of the user that hooks have not seen yet."""
    done: tuple[str, ...] = ()
    """Actions with a result that hooks have not seen yet."""
    judged: int = 0
    """How often the critic was not content with what the agent finished, in this run."""
    denied: int = 0
    """How often hooks kept the agent from finishing since it last did anything else."""
    nudged: int = 0
    """The seq at which the agent was last told that it repeats itself."""
    rearmed: int = 0
    """The seq at which it was told to go on though it was stuck: what it did before counts no more."""
    activating: tuple[Activation, ...] = ()
    """Skills that are about to be activated."""
    activated: tuple[str, ...] = ()
    """Skills that were activated by a word or a path, which happens once."""
    allowed: tuple[tuple[str, ...], ...] = ()
    """The tools that skills leave the agent until the run ends: each has its list, and all of them hold."""
    tokens: int = 0
    """About how many the view has."""
    refused: int = 0
    """How many the view had that the model called too long last; 0: none, or one was read since."""
    condensed: tuple[int, int] = (0, 0)
    """How many events and tokens the view had, with what was queued, after it was condensed last."""
    inputs: tuple[InputRequested, ...] = ()
    """What actions that run have asked a person."""
    found: tuple[str, ...] = ()
    """Deferred tools that a search has found."""
    inner: tuple[Inner, ...] = ()
    """Calls that code has made since the last model call."""


class Branch(Progress, frozen=True, gc=False):
    """What a rewind takes back."""

    view: Chain[Seen] = Chain()
    """What the model sees, in its order."""
    pending: tuple[Pending, ...] = ()

    @property
    def call(self) -> str | None:
        """The command of the model call in flight."""
        return self.phase.command if type(self.phase) is Calling else None


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A branch as it was after event `seq`, with nothing pending: a place to rewind to."""

    seq: int
    branch: Branch
    answer: str | None = None
    """`State.answer` then."""


class State(msgspec.Struct, frozen=True, gc=False):
    """A conversation after its first `seq` events."""

    seq: int = 0
    epoch: int = 0
    durability: Durability = Durability.COMMIT
    created: ConversationCreated | None = None
    agent: Agent | None = None
    prompt: SystemPromptEvent | None = None
    servers: dict[str, ToolsChanged] = {}
    """What each MCP server was heard to offer last, by its name."""
    context: ContextResolved | None = None
    """What the agent is told besides its task, and where that came from."""
    status: ExecutionStatus = ExecutionStatus.IDLE
    error: ConversationErrorEvent | None = None
    answer: str | None = None
    """The agent's final words, or the message of its `finish`; None until it gives them, and again from the next
    message or model call on."""
    branch: Branch = Branch()
    ledger: Ledger = Ledger()
    implied: bool = False
    """Whether the run was begun under a schema version before 4: its end is in no event."""
    rewound: int = 0
    """The seq of the last rewind; 0: there was none."""
    checkpoints: Chain[Checkpoint] = Chain()
    """Every place to rewind to, on all branches, in the order of their seqs."""

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """What the model is offered: the agent's own tools, those that search, then those of its MCP servers by the
        servers' names.
        """
        if self.prompt is None or not self.servers:
            return self.prompt.tools if self.prompt is not None else ()
        shown = (self.servers[name] for name in sorted(self.servers) if not self.servers[name].deferred)
        return (*self.prompt.tools, *self.searching, *(tool for server in shown for tool in server.tools))

    @property
    def searching(self) -> tuple[ToolDefinition, ...]:
        """The tools that find deferred ones, and call them; none where there are no deferred ones."""
        deferred = {name: len(one.tools) for name, one in self.servers.items() if one.deferred}
        return search_tools(deferred)

    @property
    def deferred(self) -> dict[str, bool]:
        """The tools that are found before they are called, each with whether it was."""
        found = self.branch.found
        servers = (server for server in self.servers.values() if server.deferred)
        return {tool.name: tool.name in found for server in servers for tool in server.tools}

    def definition(self, name: str) -> ToolDefinition:
        """What a tool says of itself; of one that the agent does not have, nothing but its name."""
        own = self.prompt.tools if self.prompt is not None else ()
        offers = (own, *(server.tools for server in self.servers.values()), self.searching)
        for definition in (tool for offer in offers for tool in offer):
            if definition.name == name:
                return definition
        return ToolDefinition(name=name, description="", parameters=_ANY)

    @property
    def spec(self) -> Agent:
        """The agent as it is configured now; only of a log that has its first event."""
        assert self.agent is not None
        return self.agent

    @property
    def unagreed(self) -> tuple[Offer, ...]:
        """The programs of a project or a plugin that do not run, since nobody has agreed to them."""
        offers = self.context.offers if self.context is not None else ()
        return tuple(offer for offer in offers if not offer.agreed and offer.digest not in self.ledger.agreed)

    @property
    def goal_status(self) -> GoalStatus | None:
        """How the goal stands; None where there is none."""
        goal = self.ledger.goal
        if goal is None:
            return None
        if goal.outcome is not None:
            return goal.outcome
        stopped = self.status in (ExecutionStatus.PAUSED, ExecutionStatus.ERROR, ExecutionStatus.STUCK)
        return GoalStatus.INTERRUPTED if stopped else GoalStatus.RUNNING

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The commands that were begun and have no outcome yet."""
        executions = tuple(p.command for p in self.branch.pending if p.command is not None)
        return executions if self.branch.call is None else (self.branch.call, *executions)

    @property
    def background(self) -> dict[str, Child]:
        """The conversations that work for this one in the background, by id."""
        return {name: child for name, child in self.ledger.children.items() if child.open and child.background}

    @property
    def at_rest(self) -> bool:
        """Whether nothing runs, and nothing will without a person."""
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
