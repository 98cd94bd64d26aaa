"""When an agent counts as stuck, and how its work is judged."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..errors import ConfigurationError
from .given import Count, Given, Share

CriticMode: TypeAlias = Literal["finish_and_message", "all_actions"]


class StuckDetection(Given, frozen=True, omit_defaults=True):
    """How often an agent may repeat itself since the last message of its user; 0 turns a pattern off.

    Waiting for a command that still runs counts for nothing.
    """

    action_observation: int = 4
    """The same action with the same result, so often in a row."""
    action_error: int = 4
    """The same action with the same error."""
    monologue: int = 3
    """Messages of the agent without anything in between."""
    alternating: int = 6
    """Actions that take turns: A, B, A, B, ..., with results that do."""
    nudge: bool = True
    """Whether it is told once, one repetition before it is stopped."""

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        for name in ("action_observation", "action_error", "monologue", "alternating"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} is how often, or 0 for never, not {getattr(self, name)}")


class Critic(Given, frozen=True, omit_defaults=True):
    """Has what the agent finished judged by `name`, one of the runtime's critics.

    A score below `threshold` (0 to 1) sends the agent back to work with what is missing, `max_iterations` times.
    """

    name: str
    threshold: Share = 0.6
    max_iterations: Count = 3
    mode: CriticMode = "finish_and_message"
    """With "all_actions" it also judges whenever the calls of a reply are done; nothing follows from what it says then.
    """


def judges_all(critic: Critic | None) -> bool:
    """Whether there is a critic that does not wait for the end."""
    return critic is not None and critic.mode == "all_actions"
