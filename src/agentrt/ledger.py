"""`Ledger`: the half of a state that never goes back: what was spent, granted, decided and delegated. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from .events import (
    BudgetReserved,
    ChildAction,
    ChildAnswered,
    ChildFinished,
    ChildStarted,
    ChildWaiting,
    CriticAssessed,
    ExecutionStatus,
    GoalSet,
    Grant,
    ModelCalled,
    ModelCallRetried,
    RuleAdded,
    RuleRemoved,
)
from .specs import Limits
from .specs.rules import PermissionRule
from .specs.secrets import SavedSecret, Token
from .usage import Spending, Usage, total

Origin: TypeAlias = Literal["project", "session", "above"]
"""Where a rule came from."""

_A_MISCOUNT = 1e-9
"""USD by which sums of prices may be wrong."""


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

    @property
    def may_have_spent(self) -> dict[str, Spending]:
        """What it used, should it never be opened again: all that it was granted where nobody knows."""
        granted = Spending(usage=Usage(prompt_tokens=self.grant.tokens or 0), cost=self.grant.cost or 0.0)
        return {"child": granted} if self.spent is None else self.spent

    @property
    def may_have_taken(self) -> int:
        """Its model calls, should it never be opened again."""
        return self.steps if self.spent is not None else self.grant.steps or 0


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
    prompts: float = 1.0
    """How many tokens the prompt of the last model call had for each that was estimated."""
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
    changed_files: tuple[str, ...] = ()
    """The files that the agent was told from and that have changed since, as it was told."""

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


def began(ledger: Ledger) -> Ledger:
    """After a model call or a condensation was begun."""
    return replace(ledger, commands=ledger.commands + 1)


def reserve(ledger: Ledger, event: BudgetReserved) -> Ledger:
    """After a part of the budget was reserved for a call, in place of what was reserved for its try before."""
    return replace(ledger, reserved=ledger.reserved | {event.command: event})


def called(ledger: Ledger, event: ModelCalled) -> Ledger:
    """After a model call."""
    return _spent(_released(ledger, event.command), event.usage_id, event.usage, event.cost, event.latency)


def counted(ledger: Ledger, event: ModelCalled) -> Ledger:
    """After a model call of the agent's own that told how long its prompt was."""
    if not event.prompt_estimate or not event.usage.prompt_tokens:
        return ledger
    return replace(ledger, prompts=event.usage.prompt_tokens / event.prompt_estimate)


def retried(ledger: Ledger, event: ModelCallRetried) -> Ledger:
    """After a try that failed, and may have used something."""
    if event.usage == Usage():
        return ledger
    return _spent(_released(ledger, event.command), event.usage_id, event.usage, event.cost, 0.0)


def _released(ledger: Ledger, command: str) -> Ledger:
    if command not in ledger.reserved:
        return ledger
    kept = {name: reserved for name, reserved in ledger.reserved.items() if name != command}
    return replace(ledger, reserved=kept)


def _spent(ledger: Ledger, usage_id: str, usage: Usage, cost: float | None, seconds: float) -> Ledger:
    used = bool(usage.prompt_tokens or usage.completion_tokens)
    spent = Spending(int(used), usage, cost or 0.0, int(used and cost is None), seconds)
    before = ledger.spending.get(usage_id)
    spent = spent if before is None else before + spent
    return replace(ledger, spending=ledger.spending | {usage_id: spent})


def child_started(ledger: Ledger, event: ChildStarted) -> Ledger:
    """After a conversation was delegated to: its grant is reserved. One that goes on keeps what was said for it."""
    child = Child(event.action_id, event.task, event.agent, event.grant, before=Used())
    if (known := ledger.children.get(event.child_id)) is not None:
        used = None if known.spent is None else Used(known.spent, known.steps)
        child = replace(child, waiting=known.waiting, answers=known.answers, before=used)
    return replace(ledger, children=ledger.children | {event.child_id: child})


def child_waiting(ledger: Ledger, event: ChildWaiting) -> Ledger:
    """After a conversation that was delegated to has come to rest, or goes on. An answer stays until it has arrived."""
    child = ledger.children.get(event.child_id)
    if child is None:
        return ledger
    asked = {action.action_id for action in event.actions}
    answers = tuple(answer for answer in child.answers if answer.action_id in asked)
    answered = {answer.action_id for answer in answers}
    waiting = tuple(action for action in event.actions if action.action_id not in answered)
    changes = {"status": event.status, "waiting": waiting, "answers": answers}
    return child_changed(ledger, event.child_id, **changes, spent=event.spending, steps=event.steps)


def child_untouched(ledger: Ledger, action_id: str) -> Ledger:
    """After a conversation was taken up and left before it was open: it has used what it had."""
    for child_id, child in ledger.children.items():
        if child.action_id == action_id and child.before is not None:
            used = child.before
            ledger = child_changed(ledger, child_id, spent=used.spending, steps=used.steps)
    return ledger


def child_changed(ledger: Ledger, child_id: str, **changes: object) -> Ledger:
    """After something happened to a conversation that was delegated to; nothing when it is not known."""
    child = ledger.children.get(child_id)
    if child is None:
        return ledger
    return replace(ledger, children=ledger.children | {child_id: replace(child, **changes)})


def child_answered(ledger: Ledger, event: ChildAnswered) -> Ledger:
    """After a person answered for a conversation that was delegated to; the first answer counts."""
    child = ledger.children.get(event.child_id)
    if child is None or all(action.action_id != event.action_id for action in child.waiting):
        return ledger
    waiting = tuple(action for action in child.waiting if action.action_id != event.action_id)
    running, answers = ExecutionStatus.RUNNING, (*child.answers, event)
    return child_changed(ledger, event.child_id, status=running, waiting=waiting, answers=answers)


def child_finished(ledger: Ledger, event: ChildFinished) -> Ledger:
    """After a conversation that was delegated to has ended: what it spent was spent here, once."""
    if event.child_id in ledger.children and not ledger.children[event.child_id].open:
        return ledger
    spending = dict(ledger.spending)
    for usage_id, spent in (event.spending or {"child": Spending(cost=event.cost)}).items():
        spending[usage_id] = spending.get(usage_id, Spending()) + spent
    ledger = replace(ledger, spending=spending)
    return child_changed(
        ledger, event.child_id, status=event.status, open=False, waiting=(), answers=(), steps=event.steps
    )


def children_lost(ledger: Ledger, action_id: str | None = None) -> Ledger:
    """After nobody sees a child through any more, that of an action or all: it may have spent its whole grant, unless
    it is known what it had used when it was left."""
    for child_id, child in ledger.children.items():
        if child.open and action_id in (None, child.action_id):
            used, steps = child.may_have_spent, child.may_have_taken
            lost = ChildFinished(child_id=child_id, status=ExecutionStatus.ERROR, spending=used, steps=steps)
            ledger = child_finished(ledger, lost)
    return ledger


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


class Allowance(msgspec.Struct, frozen=True):
    """What may still be spent; None where there is no limit."""

    cost: float | None
    tokens: int | None


def fits(reserved: BudgetReserved, left: Allowance) -> bool:
    """Whether a call may reserve so much of what is left."""
    cost = left.cost is None or reserved.cost <= left.cost + _A_MISCOUNT
    return cost and (left.tokens is None or reserved.tokens <= left.tokens)


def allowance(ledger: Ledger, limits: Limits, besides: str = "") -> Allowance:
    """What the limits leave of a conversation's budget, without what is reserved, but for that of `besides`."""
    cost = tokens = None
    held = [reserved for command, reserved in ledger.reserved.items() if command != besides]
    grants = [child.grant for child in ledger.children.values() if child.open]
    spent = ledger.total
    if limits.max_cost is not None:
        taken = sum(reserved.cost for reserved in held) + sum(grant.cost or 0.0 for grant in grants)
        cost = limits.max_cost + ledger.granted - spent.cost - taken
    if limits.max_tokens is not None:
        tokens = limits.max_tokens - spent.usage.total
        tokens -= sum(reserved.tokens for reserved in held) + sum(grant.tokens or 0 for grant in grants)
    return Allowance(cost, tokens)
