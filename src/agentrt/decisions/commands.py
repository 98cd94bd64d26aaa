"""The commands that can be due."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..events import ActionEvent, Grant
from ..specs import HookEvent


class CallModel(msgspec.Struct, frozen=True):
    """Ask the model for the next step."""

    id: str


class AssessRisk(msgspec.Struct, frozen=True):
    """Rate an action."""

    id: str
    action: ActionEvent


class ExecuteAction(msgspec.Struct, frozen=True):
    """Run a tool."""

    id: str
    action: ActionEvent
    attempt: int


class Delegate(msgspec.Struct, frozen=True):
    """Have an action done by a conversation of its own, which may use what it is granted."""

    id: str
    action: ActionEvent
    attempt: int
    child_id: str
    grant: Grant


class Condense(msgspec.Struct, frozen=True):
    """Make the view shorter."""

    id: str


class RunHooks(msgspec.Struct, frozen=True):
    """Run the hooks of an event, for the action or message `target`."""

    id: str
    event: HookEvent
    target: str = ""


class Judge(msgspec.Struct, frozen=True):
    """Have what the agent finished judged: by its "critic", or held against its "goal".

    `midway` it is what the agent has done so far.
    """

    id: str
    critic: str
    midway: bool = False


class RequestConfirmation(msgspec.Struct, frozen=True):
    """Note that a person must be asked, by action why; nobody performs it."""

    id: str
    reasons: tuple[tuple[str, str], ...]


class Refuse(msgspec.Struct, frozen=True):
    """Note that a rule denies an action; nobody performs it."""

    id: str
    action: ActionEvent
    reason: str


class Stop(msgspec.Struct, frozen=True):
    """Note that a limit ends the run; nobody performs it."""

    id: str
    code: str
    detail: str


class Warn(msgspec.Struct, frozen=True):
    """Note that the agent repeats itself: it is told, or stopped when it was told before. Nobody performs it."""

    id: str
    pattern: str
    detail: str
    stop: bool


Note: TypeAlias = RequestConfirmation | Refuse | Stop | Warn
"""What follows from the rules alone: the log notes it, and nobody performs it."""
Execution: TypeAlias = ExecuteAction | Delegate
Task: TypeAlias = CallModel | AssessRisk | Execution | Condense | RunHooks | Judge
"""What somebody performs."""
Command: TypeAlias = Task | Note
