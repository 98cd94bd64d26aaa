"""When an action needs confirmation, and the limits of a run."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TypeAlias

from ..errors import ConfigurationError
from .given import Given


class SecurityRisk(StrEnum):
    """How dangerous an action is; UNKNOWN cannot be compared with the others."""

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
    """When it is on disk. Neither a killed process nor a machine failure loses events."""
    INTERVAL = "interval"
    """When it is written. A machine failure may lose the events of the last moments, a killed process loses none."""
    NONE = "none"
    """When it is written. A machine failure may lose all events since the conversation was opened."""


class BusyPolicy(StrEnum):
    """How a message is treated that comes while the agent works. It is logged at once, unless it is rejected."""

    ENQUEUE = "enqueue"
    """The message is seen before the next model call."""
    STEER = "steer"
    """The current model call is aborted and repeated with the message; a running tool may end."""
    INTERRUPT = "interrupt"
    """Everything that runs is aborted, and the agent continues with the message."""
    REJECT = "reject"
    """The message is refused."""


class NeverConfirm(Given, frozen=True, tag=True):
    """No action needs confirmation."""


class AlwaysConfirm(Given, frozen=True, tag=True):
    """Every action needs confirmation."""


class ConfirmRisky(Given, frozen=True, tag=True, omit_defaults=True):
    """Actions rated `threshold` or higher need confirmation, and unrated ones if `confirm_unknown`."""

    threshold: SecurityRisk = SecurityRisk.HIGH
    confirm_unknown: bool = True


ConfirmationPolicy: TypeAlias = NeverConfirm | AlwaysConfirm | ConfirmRisky


def asks(policy: ConfirmationPolicy, risk: SecurityRisk) -> bool:
    """Return whether `policy` requires confirmation for an action of this risk."""
    match policy:
        case NeverConfirm():
            return False
        case AlwaysConfirm():
            return True
        case ConfirmRisky():
            if policy.threshold is SecurityRisk.UNKNOWN:  # no risk is below it
                return True
            if risk is SecurityRisk.UNKNOWN:
                return policy.confirm_unknown
            return _ORDER.index(risk) >= _ORDER.index(policy.threshold)


def stricter(one: ConfirmationPolicy, other: ConfirmationPolicy) -> ConfirmationPolicy:
    """Return a policy that asks whenever one of the two does."""
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
    """Limits of a conversation; a run that reaches one ends with an error that names it."""

    max_steps: int = 500
    """Model calls in one run, including those of children (delegated conversations)."""
    tool_concurrency: int = 4
    """The most calls of one batch that run in parallel. Calls that share a resource run one after another; a tool that
    does not say what it touches shares its resource with all.
    """
    max_seconds: float | None = None
    """Seconds of one run; work that is still running then is aborted."""
    max_cost: float | None = None
    """USD in total, including the costs of children; `conversation.grant()` adds to it."""
    max_tokens: int | None = None
    """Tokens in total, input and output, including those of children."""
    max_depth: int = 2
    """The greatest depth of nested delegation."""

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        for name in self.__struct_fields__:
            least, value = int(name == "tool_concurrency"), getattr(self, name)
            if value is not None and not least <= value < math.inf:
                raise ConfigurationError(f"{name} must be {least} or more, not {value}")
