"""Errors of calls to an actor."""

from __future__ import annotations

from .base import AgentrtError


class ActorError(AgentrtError):
    """Base of the errors of calls to an actor."""


class ActorCrashed(ActorError):
    """Raised to the caller when a bug ended the actor's handler; the actor restarts."""

    def __init__(self, actor: str, cause: BaseException) -> None:
        self.actor, self.cause = actor, cause
        super().__init__(f"actor {actor!r} crashed: {type(cause).__name__}: {cause}")


class ActorStopped(ActorError):
    """Raised to every caller, waiting or new, once an actor has stopped permanently."""

    def __init__(self, actor: str) -> None:
        self.actor = actor
        super().__init__(f"actor {actor!r} has stopped")
