"""Who is asked before an action runs, and how far a run may go."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TypeAlias

from ..errors import ConfigurationError
from .given import Given


class SecurityRisk(StrEnum):
    """How dangerous an action is; UNKNOWN compares with nothing."""

    UNKNOWN = "UNKNOWN"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"

    @classmethod
    def _missing_(cls, value: object) -> SecurityRisk | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


_ORDER = (SecurityRisk.LOW, SecurityRisk.MEDIUM, SecurityRisk.HIGH)


class Durability(StrEnum):
    """When an event counts as committed, and is shown."""

    COMMIT = "commit"
    """When it is on disk: neither a killed process nor a lost machine takes it away."""
    INTERVAL = "interval"
    """When it is written: a lost machine may take what came in the last moments, a killed process nothing."""
    NONE = "none"
    """When it is written: a lost machine may take all that came since the conversation was opened."""


class BusyPolicy(StrEnum):
    """What a message does that comes while the agent works. It is logged at once, unless it is rejected."""

    ENQUEUE = "enqueue"
    """It is seen before the next model call."""
    STEER = "steer"
    """The model call that runs is cut and made again with it; a tool that runs may end."""
    INTERRUPT = "interrupt"
    """All that runs is cut, and the agent goes on with it."""
    REJECT = "reject"
    """It is refused."""


class NeverConfirm(Given, frozen=True, tag=True):
    """Nothing is asked."""


class AlwaysConfirm(Given, frozen=True, tag=True):
    """Every action is asked."""


class ConfirmRisky(Given, frozen=True, tag=True, omit_defaults=True):
    """Actions rated `threshold` or higher are asked, and unknown ones when `confirm_unknown`."""

    threshold: SecurityRisk = SecurityRisk.HIGH
    confirm_unknown: bool = True


ConfirmationPolicy: TypeAlias = NeverConfirm | AlwaysConfirm | ConfirmRisky


def asks(policy: ConfirmationPolicy, risk: SecurityRisk) -> bool:
    """Whether `policy` wants a person's word for an action of this risk."""
    match policy:
        case NeverConfirm():
            return False
        case AlwaysConfirm():
            return True
        case ConfirmRisky():
            if policy.threshold is SecurityRisk.UNKNOWN:  # which nothing is below
                return True
            if risk is SecurityRisk.UNKNOWN:
                return policy.confirm_unknown
            return _ORDER.index(risk) >= _ORDER.index(policy.threshold)


def stricter(one: ConfirmationPolicy, other: ConfirmationPolicy) -> ConfirmationPolicy:
    """A policy that asks whenever one of the two does."""
    match one, other:
        case (AlwaysConfirm(), _) | (_, AlwaysConfirm()):
            return AlwaysConfirm()
        case NeverConfirm(), _:
            return other
        case _, NeverConfirm():
            return one
        case ConfirmRisky(), ConfirmRisky():
            lower = min(one.threshold, other.threshold, key=lambda risk: _ORDER.index(risk) if risk in _ORDER else -1)
            return ConfirmRisky(lower, one.confirm_unknown or other.confirm_unknown)
        case _:
            raise TypeError(f"no policies: {one!r}, {other!r}")


class Limits(Given, frozen=True, omit_defaults=True):
    """Bounds of what a conversation may use; a run that reaches one ends with an error that names it."""

    max_steps: int = 500
    """Model calls in one run, with those of children."""
    tool_concurrency: int = 1
    """Calls of one batch that may run side by side, where their resources allow."""
    max_seconds: float | None = None
    """Seconds of one run; what is at work then is cut."""
    max_cost: float | None = None
    """USD in all, with what children spend; `conversation.grant()` adds to it."""
    max_tokens: int | None = None
    """Tokens in all, in and out, with those of children."""
    max_depth: int = 2
    """How many conversations may stand one below the other, of those that are delegated to."""

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        for name in self.__struct_fields__:
            least, value = int(name == "tool_concurrency"), getattr(self, name)
            if value is not None and not least <= value < math.inf:
                raise ConfigurationError(f"{name} is a number from {least} on, not {value}")
