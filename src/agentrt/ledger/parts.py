"""What a ledger is made of. All of it is immutable."""

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
"""Where a rule came from."""


class Used(msgspec.Struct, frozen=True, gc=False):
    """What a conversation had used, by `usage_id`, and its model calls."""

    spending: dict[str, Spending] = {}
    steps: int = 0


class Child(msgspec.Struct, frozen=True, gc=False):
    """A conversation that was delegated to; once it has ended its `grant` is free again."""

    action_id: str
    task: str
    agent: str = ""
    grant: Grant = Grant()
    status: ExecutionStatus = ExecutionStatus.RUNNING
    """As it was when it came to rest last; running until then."""
    open: bool = True
    waiting: tuple[ChildAction, ...] = ()
    """What waits in it for a person."""
    answers: tuple[ChildAnswered, ...] = ()
    """What a person said, until it is known to have arrived: that is when it waits for it no more."""
    spent: dict[str, Spending] | None = None
    """What it had used when it was left in the middle; None: nobody knows."""
    steps: int = 0
    before: Used | None = None
    """What it had used when it was taken up, and has until it is open; None: nobody knows."""
    counted: Used = Used()
    """What it had used when it had ended last: that was counted then."""
    background: bool = False
    """Whether the conversation that delegates goes on meanwhile, and is told of its end."""
    cut: bool = False
    """Whether it was interrupted from there, and is to end."""
    messages: tuple[ChildMessaged, ...] = ()
    """What it is told while it works."""

    @property
    def may_have_spent(self) -> dict[str, Spending]:
        """What it used, should it never be opened again: all that it was granted where nobody knows."""
        if self.spent is not None:
            return self.spent
        granted = Spending(usage=Usage(prompt_tokens=self.grant.tokens or 0), cost=self.grant.cost or 0.0)
        before = self.counted.spending
        return before | {"child": before.get("child", Spending()) + granted}

    @property
    def may_have_taken(self) -> int:
        """Its model calls, should it never be opened again."""
        return self.steps if self.spent is not None else self.counted.steps + (self.grant.steps or 0)


class AddedRule(msgspec.Struct, frozen=True, gc=False):
    """A rule that was added, and where it came from: this conversation, its workspace, or the one that delegates it."""

    rule: PermissionRule
    origin: Origin = "session"


class GoalStatus(StrEnum):
    """How a goal stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    CAPPED = "capped"
    """It was judged as often as it may be."""
    INTERRUPTED = "interrupted"
    """The run was stopped before; the next one goes on with it."""


class Goal(msgspec.Struct, frozen=True, gc=False):
    """What the agent is to reach, and how often that was judged."""

    set: GoalSet
    iterations: int = 0
    outcome: GoalStatus | None = None
    """`COMPLETE` or `CAPPED`, once it is judged no more."""
    score: float = 0.0


class Counting(msgspec.Struct, frozen=True, gc=False):
    """What is known of the agent's model since it was called."""

    prompts: float = 1.0
    """How many tokens the prompt of the last call had for each that was estimated."""
    measure: float = 1.0
    """How many it had for each of `Branch.tokens`."""
    window: int = 0
    """Tokens that it can read; 0: nobody has said yet."""


class Ledger(msgspec.Struct, frozen=True, gc=False):
    """What was begun, spent and decided, whatever was rewound since."""

    runs: int = 0
    """How often it was told to go on when it did not."""
    above: int = 0
    """The run of the conversation above in which it was last told to run."""
    commands: int = 0
    """Model calls and condensations begun, ever."""
    spending: dict[str, Spending] = {}
    """By usage id; what children spent is in it."""
    reserved: dict[str, BudgetReserved] = {}
    """Of the model calls in flight, by their commands."""
    counting: Counting = Counting()
    granted: float = 0.0
    """USD on top of the limit."""
    message_ids: frozenset[str] = frozenset()
    started: bool = False
    """Whether the hooks of the start have run."""
    children: dict[str, Child] = {}
    """Those that were delegated to, by id."""
    added: tuple[AddedRule, ...] = ()
    """What a person decided once and for all, on top of the agent's rules."""
    withdrawn: tuple[PermissionRule, ...] = ()
    """What a person took back here: it does not come again from the workspace or from above."""
    goal: Goal | None = None
    used_tools: frozenset[str] = frozenset()
    """The tools that ran, and were not said to be lost since: what they hold is there whatever the view shows."""
    title: str = ""
    tags: dict[str, str] = {}
    secrets: dict[str, SavedSecret] = {}
    """What there is to know of the secrets, by name; never a value in the clear."""
    past_secrets: tuple[Token, ...] = ()
    """Values that were secrets before, encrypted."""
    agreed: tuple[str, ...] = ()
    """The digests of the programs that a person agreed to in this conversation."""
    changed_files: tuple[str, ...] = ()
    """The files that the agent was told from and that have changed since, as it was told."""
    restoring: int = 0
    """The seq of the place whose files are being restored; 0: of none."""
    names: dict[str, tuple[str, str]] = {}
    """By the names of servers' tools that were ever offered: the server, and what it calls the tool; "": its reader."""

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """The rules that were added."""
        return tuple(added.rule for added in self.added)

    @property
    def total(self) -> Spending:
        """All that was spent."""
        return total(self.spending.values())

    @property
    def usage(self) -> Usage:
        """The tokens of all calls."""
        return self.total.usage

    @property
    def cost(self) -> float:
        """In USD, of the calls whose price is known."""
        return self.total.cost

    @property
    def unpriced(self) -> int:
        """Model calls whose price nobody knows."""
        return self.total.unpriced


def ruled(ledger: Ledger, event: RuleAdded | RuleRemoved) -> Ledger:
    """After a rule was added, or taken back. Of one that came twice the workspace counts, else what was said here."""
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
    """Those that a fork has: there is nothing above it."""
    return tuple(AddedRule(added.rule, "session") if added.origin == "above" else added for added in ledger.added)


def ran(ledger: Ledger) -> Ledger:
    """After a run was begun."""
    return replace(ledger, runs=ledger.runs + 1)


def judged(ledger: Ledger, event: CriticAssessed) -> Ledger:
    """After what was finished was held against the goal."""
    if ledger.goal is None:
        return ledger
    goal, iterations = ledger.goal, ledger.goal.iterations + 1
    capped = iterations >= goal.set.max_iterations
    outcome = GoalStatus.COMPLETE if event.success else GoalStatus.CAPPED if capped else None
    return replace(ledger, goal=replace(goal, iterations=iterations, outcome=outcome, score=event.score))
