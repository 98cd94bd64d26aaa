"""Budgets and delegated conversations."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..specs import SecurityRisk
from ..specs.flow import Label
from ..usage import Spending
from .base import Event, ExecutionStatus, Id, Source


class Grant(msgspec.Struct, frozen=True, omit_defaults=True):
    """The most that a delegated conversation may use; None: no limit."""

    cost: float | None = None
    tokens: int | None = None
    steps: int | None = None


class BudgetGranted(Event, frozen=True, kw_only=True):
    """Money (USD) that this conversation may spend, in addition to earlier grants."""

    amount: float


class ChildStarted(Event, frozen=True, kw_only=True):
    """A delegated conversation is about to start: its `grant` is reserved until it has ended."""

    child_id: Id
    task: str
    action_id: Id = ""
    agent: str = ""
    """The name of the agent that works there; "": an agent like this one."""
    model: str = ""
    """The model that a hook names for its agent; "": that of the agent."""
    grant: Grant = Grant()
    background: bool = False
    """Whether this conversation goes on meanwhile, and gets a message when the child ends."""


class ChildMessaged(Event, frozen=True, kw_only=True):
    """The agent sends a message to a conversation that works for it in the background."""

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
    """A delegated conversation has stopped, or goes on: its `status`, and the actions that wait for a person.

    The actions are its own or those of its own children. A conversation that was left in the middle of its work has
    `spending` and `steps` so far.
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
    """For a conversation in the background: the origins of untrusted content in its report."""
    heard: int = 0
    """For a conversation in the background: how many of the messages sent to it meanwhile it has received."""


TreeEvent: TypeAlias = BudgetGranted | ChildStarted | ChildMessaged | ChildWaiting | ChildAnswered | ChildFinished
