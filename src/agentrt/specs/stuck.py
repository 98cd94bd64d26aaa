"""Configuration of stuck detection and of critics."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..errors import ConfigurationError
from .given import Count, Given, Share

CriticMode: TypeAlias = Literal["finish_and_message", "all_actions"]


class StuckDetection(Given, frozen=True, omit_defaults=True):
    """The number of repetitions since the last user message at which an agent counts as stuck; 0 disables a pattern.

    Waiting for a command that is still running does not count.
    """

    action_observation: int = 4
    """The same action with the same result, in a row."""
    action_error: int = 4
    """The same action with the same error, in a row."""
    monologue: int = 3
    """Messages of the agent without anything in between."""
    alternating: int = 6
    """Alternating actions: A, B, A, B, ..., with alternating results."""
    nudge: bool = True
    """Whether the agent is warned once, one repetition before it is stopped."""

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        for name in ("action_observation", "action_error", "monologue", "alternating"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} must be a count, 0 for never, not {getattr(self, name)}")


class Critic(Given, frozen=True, omit_defaults=True):
    """Has the agent's finished work judged by `name`, one of the runtime's critics.

    A score below `threshold` (0 to 1) sends the agent back to work on what is missing, up to `max_iterations` times.
    """

    name: str
    threshold: Share = 0.6
    max_iterations: Count = 3
    mode: CriticMode = "finish_and_message"
    """With "all_actions" it also judges after the calls of each reply; these judgements have no effect."""


def judges_all(critic: Critic | None) -> bool:
    """Return whether there is a critic that also judges before the end."""
    return critic is not None and critic.mode == "all_actions"
