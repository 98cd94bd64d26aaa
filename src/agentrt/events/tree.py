"""Budgets, and the conversations that are delegated to."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..specs import SecurityRisk
from ..specs.flow import Label
from ..usage import Spending
from .base import Event, ExecutionStatus, Id, Source


class Grant(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a delegated conversation may use at most; None: no limit."""

    cost: float | None = None
    tokens: int | None = None
    steps: int | None = None


class BudgetGranted(Event, frozen=True, kw_only=True):
    """Money (USD) that this conversation may spend, on top of what it was granted before."""

    amount: float


class ChildStarted(Event, frozen=True, kw_only=True):
    """A conversation is about to be delegated to: its `grant` is reserved from here until it has ended."""

    child_id: Id
    task: str
    action_id: str = ""
    agent: str = ""
    """Which of the agents that are delegated to; "": one like this."""
    grant: Grant = Grant()
    background: bool = False
    """Whether this conversation goes on meanwhile, and is told of its end by a message."""


class ChildMessaged(Event, frozen=True, kw_only=True):
    """The agent says something to a conversation that works for it in the background."""

    source: Source = "agent"
    child_id: Id
    message: str


class ChildAction(msgspec.Struct, frozen=True):
    """An action of a delegated conversation that waits for a person; `arguments` is JSON text."""

    action_id: Id
    tool_name: str
    arguments: str
    risk: SecurityRisk | None = None
    reason: str = ""


class ChildWaiting(Event, frozen=True, kw_only=True):
    """A delegated conversation has come to rest, or goes on: its `status`, and the actions that wait for a person's
    word, its own or those of its own children. One that was left in the middle has `spending` and `steps` so far.
    """

    child_id: Id
    actions: tuple[ChildAction, ...]
    status: ExecutionStatus = ExecutionStatus.WAITING_FOR_CONFIRMATION
    spending: dict[str, Spending] | None = None
    steps: int = 0


class ChildAnswered(Event, frozen=True, kw_only=True):
    """A person approved or refused an action of a delegated conversation."""

    source: Source = "user"
    child_id: Id
    action_id: Id
    approved: bool
    reason: str = ""


class ChildFinished(Event, frozen=True, kw_only=True):
    """A delegated conversation has ended; `spending` is by usage id, `cost` its sum, `steps` its model calls."""

    child_id: Id
    status: ExecutionStatus
    cost: float = 0.0
    spending: dict[str, Spending] = msgspec.field(default_factory=dict)
    steps: int = 0
    labels: tuple[Label, ...] = ()
    """Of one in the background, what its report holds that nobody vouches for."""
    heard: int = 0
    """Of one in the background, how much of what was said to it meanwhile it has heard."""


TreeEvent: TypeAlias = BudgetGranted | ChildStarted | ChildMessaged | ChildWaiting | ChildAnswered | ChildFinished
