"""The parts of a ledger. All of them are immutable."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ..events import (
    BudgetReserved,
    ChildAction,
    ChildAnswered,
    ChildMessaged,
    CriticAssessed,
    ExecutionStatus,
    GoalSet,
    Grant,
    RuleAdded,
    RuleRemoved,
)
from ..specs.rules import PermissionRule
from ..specs.secrets import SavedSecret, Token
from ..usage import Spending, Usage, total

Origin: TypeAlias = Literal["project", "session", "above"]
"""Where a rule came from: the workspace, this conversation, or the one that delegated it."""


class Used(msgspec.Struct, frozen=True, gc=False):
    """What a conversation had used: its spending by `usage_id`, and its model calls."""

    spending: dict[str, Spending] = {}
    steps: int = 0


class Child(msgspec.Struct, frozen=True, gc=False):
    """A delegated conversation; once it has ended, its `grant` is free again."""

    action_id: str
    task: str
    agent: str = ""
    model: str = ""
    grant: Grant = Grant()
    status: ExecutionStatus = ExecutionStatus.RUNNING
    """Its status when it last came to rest; running until then."""
    open: bool = True
    waiting: tuple[ChildAction, ...] = ()
    """Its actions that wait for a person."""
    answers: tuple[ChildAnswered, ...] = ()
    """A person's answers, until they are known to have arrived: the child no longer waits for them then."""
    spent: dict[str, Spending] | None = None
    """What it had used when it was left in the middle of its work; None: unknown."""
    steps: int = 0
    before: Used | None = None
    """What it had used when it was last started, which is its usage until it is open; None: unknown."""
    counted: Used = Used()
    """What it had used when it last ended, and was counted then."""
    background: bool = False
    """Whether the delegating conversation goes on meanwhile, and gets a message when the child ends."""
    cut: bool = False
    """Whether the delegating conversation has interrupted it, so that it is to end."""
    messages: tuple[ChildMessaged, ...] = ()
    """The messages to it while it works."""

    @property
    def may_have_spent(self) -> dict[str, Spending]:
        """Its spending if it is never opened again: where unknown, its whole grant on top of what was counted."""
        if self.spent is not None:
            return self.spent
        granted = Spending(usage=Usage(prompt_tokens=self.grant.tokens or 0), cost=self.grant.cost or 0.0)
        before = self.counted.spending
        return before | {"child": before.get("child", Spending()) + granted}

    @property
    def may_have_taken(self) -> int:
        """Its model calls if it is never opened again, likewise."""
        return self.steps if self.spent is not None else self.counted.steps + (self.grant.steps or 0)


class AddedRule(msgspec.Struct, frozen=True, gc=False):
    """A rule that was added, and where it came from."""

    rule: PermissionRule
    origin: Origin = "session"


class GoalStatus(StrEnum):
    """The status of a goal."""

    RUNNING = "running"
    COMPLETE = "complete"
    CAPPED = "capped"
    """It was judged the maximum number of times."""
    INTERRUPTED = "interrupted"
    """The run was stopped before; the next one continues with the goal."""


class Goal(msgspec.Struct, frozen=True, gc=False):
    """The goal of the agent, and how often its work was judged against it."""

    set: GoalSet
    iterations: int = 0
    outcome: GoalStatus | None = None
    """`COMPLETE` or `CAPPED`, once it is no longer judged."""
    score: float = 0.0


class Counting(msgspec.Struct, frozen=True, gc=False):
    """What is known about the agent's model from its calls."""

    prompts: float = 1.0
    """The tokens in the prompt of the last call for each estimated token."""
    measure: float = 1.0
    """The tokens in that prompt for each of `Branch.tokens`."""
    window: int = 0
    """Its context window in tokens; 0: not known yet."""


class Ledger(msgspec.Struct, frozen=True, gc=False):
    """What was begun, spent and decided, whatever was rewound since then."""

    runs: int = 0
    """How often the conversation was told to run while it did not."""
    above: int = 0
    """The number of the delegating conversation's run in which it was last told to run."""
    commands: int = 0
    """Number of model calls and condensations ever begun."""
    spending: dict[str, Spending] = {}
    """By usage id, including the spending of children that have ended."""
    reserved: dict[str, BudgetReserved] = {}
    """The reservations of the model calls in flight, by command."""
    counting: Counting = Counting()
    granted: float = 0.0
    """USD granted on top of the limit."""
    message_ids: frozenset[str] = frozenset()
    started: bool = False
    """Whether the hooks of the start have run."""
    children: dict[str, Child] = {}
    """The delegated conversations, by id."""
    added: tuple[AddedRule, ...] = ()
    """A person's permanent decisions, in addition to the agent's rules."""
    withdrawn: tuple[PermissionRule, ...] = ()
    """The rules that a person removed here: they do not come back from the workspace or from above."""
    goal: Goal | None = None
    used_tools: frozenset[str] = frozenset()
    """The tools that ran and were not reported lost since: what they hold is there, whatever the view shows."""
    title: str = ""
    tags: dict[str, str] = {}
    secrets: dict[str, SavedSecret] = {}
    """The known facts about the secrets, by name; never a value in plain text."""
    past_secrets: tuple[Token, ...] = ()
    """Former values of secrets, encrypted."""
    agreed: tuple[str, ...] = ()
    """The digests of the programs that a person agreed to in this conversation."""
    changed_files: tuple[str, ...] = ()
    """The files of the agent's context that have changed since they were read, as the agent was told."""
    beside: dict[str, str] = {}
    """The commands of people and programs that run beside the agent, by the ids of their events."""
    restoring: int = 0
    """The seq of the place whose files are being restored; 0: none."""
    names: dict[str, tuple[str, str]] = {}
    """The servers' tools that were ever offered, by name: the server, and the server's own name for the tool; "": the
    tool that reads the server's resources.
    """

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """The rules that were added."""
        return tuple(added.rule for added in self.added)

    @property
    def total(self) -> Spending:
        """The total spending."""
        return total(self.spending.values())

    @property
    def usage(self) -> Usage:
        """The tokens of all calls."""
        return self.total.usage

    @property
    def cost(self) -> float:
        """The cost in USD of the calls whose price is known."""
        return self.total.cost

    @property
    def unpriced(self) -> int:
        """Number of model calls whose price is unknown."""
        return self.total.unpriced


def ruled(ledger: Ledger, event: RuleAdded | RuleRemoved) -> Ledger:
    """Apply the addition or removal of a rule. Of several origins of a rule, the workspace counts, else this
    conversation.
    """
    others = tuple(added for added in ledger.added if added.rule != event.rule)
    withdrawn = tuple(rule for rule in ledger.withdrawn if rule != event.rule)
    if isinstance(event, RuleRemoved):
        if event.source == "user" and event.scope == "session":
            withdrawn = (*withdrawn, event.rule)
        return replace(ledger, added=others, withdrawn=withdrawn)
    origins = {_origin(event), *(added.origin for added in ledger.added if added.rule == event.rule)}
    origin: Origin = "project" if "project" in origins else "session" if "session" in origins else "above"
    return replace(ledger, added=(*others, AddedRule(event.rule, origin)), withdrawn=withdrawn)


def _origin(event: RuleAdded) -> Origin:
    return "above" if event.source == "environment" and event.scope == "session" else event.scope


def own_rules(ledger: Ledger) -> tuple[AddedRule, ...]:
    """Return the rules of a fork: those from above become its own, since there is nothing above it."""
    return tuple(AddedRule(added.rule, "session") if added.origin == "above" else added for added in ledger.added)


def ran(ledger: Ledger) -> Ledger:
    """Apply the beginning of a run."""
    return replace(ledger, runs=ledger.runs + 1)


def judged(ledger: Ledger, event: CriticAssessed) -> Ledger:
    """Apply a judgement of the finished work against the goal."""
    if ledger.goal is None:
        return ledger
    goal, iterations = ledger.goal, ledger.goal.iterations + 1
    capped = iterations >= goal.set.max_iterations
    outcome = GoalStatus.COMPLETE if event.success else GoalStatus.CAPPED if capped else None
    return replace(ledger, goal=replace(goal, iterations=iterations, outcome=outcome, score=event.score))
