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
    """Run a tool, unless one of the `files` that it runs has changed since the action was rated."""

    id: str
    action: ActionEvent
    attempt: int
    files: dict[str, str] = {}
    resumed: bool = False
    """Whether it was begun before, and must not begin anew: see `OnCrash.RESUME`."""


class Delegate(msgspec.Struct, frozen=True):
    """Have an action done by a separate conversation, within its grant."""

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
    """Follow a conversation that works in the background to its end."""

    id: str
    child_id: str


class Launch(msgspec.Struct, frozen=True):
    """Note that an action is done in the background, by a separate conversation; `Attend` follows it to its end."""

    id: str
    action: ActionEvent
    attempt: int
    child_id: str
    grant: Grant


class Tell(msgspec.Struct, frozen=True):
    """Note a message of the agent to a conversation that works in the background."""

    id: str
    action: ActionEvent
    attempt: int
    child_id: str


class Activate(msgspec.Struct, frozen=True):
    """Prepare the text of a skill, and tell it to the model; first request the commands in it.

    If the model requested the skill by an `action`, the text is the action's result.
    """

    id: str
    due: Activation
    action: ActionEvent | None = None
    attempt: int = 1


class RunHooks(msgspec.Struct, frozen=True):
    """Run the hooks of an event: for the message or the finished action `target`, or before an `action`."""

    id: str
    event: HookEvent
    target: str
    hooks: tuple[Hook, ...]
    action: ActionEvent | None = None


class Judge(msgspec.Struct, frozen=True):
    """Have the agent's finished work judged, by a critic or against a goal.

    With `midway`, the critic judges the work so far.
    """

    id: str
    by: Critic | GoalSet
    midway: bool = False

    @property
    def critic(self) -> Literal["critic", "goal"]:
        """Which of the two it is."""
        return "goal" if isinstance(self.by, GoalSet) else "critic"


class RequestConfirmation(msgspec.Struct, frozen=True):
    """Note that a person must be asked, with the id of each action and the reason; nobody performs it."""

    id: str
    reasons: tuple[tuple[str, str], ...]


class RequestResult(msgspec.Struct, frozen=True):
    """Note that a client must execute an action; nobody here performs it."""

    id: str
    action: ActionEvent
    deadline: float | None


class AwaitResults(msgspec.Struct, frozen=True):
    """Note that nothing is left to do until a client has given a result; nobody performs it."""

    id: str


class Refuse(msgspec.Struct, frozen=True):
    """Note that an action is refused, by a rule or because it is impossible; nobody performs it."""

    id: str
    action: ActionEvent
    reason: str


class Stop(msgspec.Struct, frozen=True):
    """Note that a limit ends the run; nobody performs it."""

    id: str
    code: str
    detail: str


class Warn(msgspec.Struct, frozen=True):
    """Note that the agent repeats itself, and warn it or stop it; nobody performs it."""

    id: str
    pattern: str
    detail: str
    stop: bool


class AwaitChildren(msgspec.Struct, frozen=True):
    """Note that all running work waits for a person, here or in delegated conversations; nobody performs it."""

    id: str


class End(msgspec.Struct, frozen=True):
    """Note that the run is over; nobody performs it."""

    id: str
    reason: Literal["answered", "nothing_to_do"]


Note: TypeAlias = (
    RequestConfirmation | RequestResult | AwaitResults | AwaitChildren | Refuse | Launch | Tell | Stop | Warn | End
)
"""The commands that follow from the rules alone: the log notes them, and nobody performs them."""
Execution: TypeAlias = ExecuteAction | Delegate | Activate
Task: TypeAlias = CallModel | AssessRisk | Execution | Attend | Condense | RunHooks | Judge
"""The commands that a performer carries out."""
Command: TypeAlias = Task | Note
