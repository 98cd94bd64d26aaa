"""The commands that can be due."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ..events import ActionEvent, GoalSet, Grant
from ..specs import CondensationReason, Critic, Hook, HookEvent
from ..state import Activation


class CallModel(msgspec.Struct, frozen=True):
    """Ask the model for the next step."""

    id: str


class AssessRisk(msgspec.Struct, frozen=True):
    """Have an action rated by these analyzers."""

    id: str
    action: ActionEvent
    analyzers: tuple[str, ...]


class ExecuteAction(msgspec.Struct, frozen=True):
    """Run a tool, unless one of the `files` that it runs is not as it was when the action was rated."""

    id: str
    action: ActionEvent
    attempt: int
    files: dict[str, str] = {}
    resumed: bool = False
    """Whether it was begun before, and is not to begin anew: see `OnCrash.RESUME`."""


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
    reason: CondensationReason


class Attend(msgspec.Struct, frozen=True):
    """See a conversation through that works in the background."""

    id: str
    child_id: str


class Launch(msgspec.Struct, frozen=True):
    """Note that an action is done in the background, by a conversation of its own; `Attend` sees it through."""

    id: str
    action: ActionEvent
    attempt: int
    child_id: str
    grant: Grant


class Tell(msgspec.Struct, frozen=True):
    """Note what the agent says to a conversation that works in the background."""

    id: str
    action: ActionEvent
    attempt: int
    child_id: str


class Activate(msgspec.Struct, frozen=True):
    """Make the text of a skill ready, and tell it to the model; first ask for the commands that are in it.

    An `action` by which the model asks for the skill has the text as its result.
    """

    id: str
    due: Activation
    action: ActionEvent | None = None
    attempt: int = 1


class RunHooks(msgspec.Struct, frozen=True):
    """Run the hooks of an event, for the message or the finished action `target`, or before an `action`."""

    id: str
    event: HookEvent
    target: str
    hooks: tuple[Hook, ...]
    action: ActionEvent | None = None


class Judge(msgspec.Struct, frozen=True):
    """Have what the agent finished judged: by a critic, or held against a goal.

    `midway` the critic judges what the agent has done so far.
    """

    id: str
    by: Critic | GoalSet
    midway: bool = False

    @property
    def critic(self) -> Literal["critic", "goal"]:
        """Which of the two judges."""
        return "goal" if isinstance(self.by, GoalSet) else "critic"


class RequestConfirmation(msgspec.Struct, frozen=True):
    """Note that a person must be asked, by action why; nobody performs it."""

    id: str
    reasons: tuple[tuple[str, str], ...]


class RequestResult(msgspec.Struct, frozen=True):
    """Note that a client is to execute an action; nobody here performs it."""

    id: str
    action: ActionEvent
    deadline: float | None


class AwaitResults(msgspec.Struct, frozen=True):
    """Note that nothing is left to be done before a client has given a result; nobody performs it."""

    id: str


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


class AwaitChildren(msgspec.Struct, frozen=True):
    """Note that all that runs waits for a person in conversations that were delegated to; nobody performs it."""

    id: str


class End(msgspec.Struct, frozen=True):
    """Note that the run is over; nobody performs it."""

    id: str
    reason: Literal["answered", "nothing_to_do"]


Note: TypeAlias = (
    RequestConfirmation | RequestResult | AwaitResults | AwaitChildren | Refuse | Launch | Tell | Stop | Warn | End
)
"""What follows from the rules alone: the log notes it, and nobody performs it."""
Execution: TypeAlias = ExecuteAction | Delegate | Activate
Task: TypeAlias = CallModel | AssessRisk | Execution | Attend | Condense | RunHooks | Judge
"""What somebody performs."""
Command: TypeAlias = Task | Note
