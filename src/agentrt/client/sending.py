"""Sending of controls so that a lost connection does no harm: their ids, whether they may be repeated, and their
timeouts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ..controls import (
    AddRule,
    AnyControl,
    AskAgent,
    Condense,
    Confirm,
    Control,
    Fork,
    GenerateTitle,
    Grant,
    Reject,
    Rewind,
    SendMessage,
    StartRun,
)
from ..decisions import waiting
from ..errors import ConfigurationError
from ..events import CondensationRequest, Event, HeadMoved, RunRequested
from ..ids import new_id
from ..secrets import AnySecret, StaticSecret
from ..state import State

ONCE: tuple[type[Control], ...] = (StartRun, Rewind, Condense, Grant)
"""Controls that are not repeated without a check, because doing them twice has another effect than doing them once."""

TRACES: Mapping[type[Control], type[Event]] = {
    StartRun: RunRequested,
    Rewind: HeadMoved,
    Condense: CondensationRequest,
}
"""The event by which each control is recognized as done. A grant is not looked up: a person must check it."""

MODEL_SECONDS = 600.0
"""Timeout in seconds of the answer to a control that calls a model."""


def seconds_of(control: AnyControl) -> float | None:
    """Return the timeout of a control's answer in seconds; None: the default."""
    return MODEL_SECONDS if isinstance(control, (AskAgent, GenerateTitle)) else None


def named(control: AnyControl, state: State) -> AnyControl | None:
    """Return the control with ids for what it makes and refers to, so that it counts only once; None: it has no effect.

    Approving all approves the actions that were shown here, not later ones.
    """
    match control:
        case SendMessage(id=None):
            return replace(control, id=new_id())
        case Fork(id=None):
            return replace(control, id=new_id())
        case Confirm(action_ids=()) | Reject(action_ids=()):
            if ids := tuple(pending.action.id for pending in waiting(state)):
                return replace(control, action_ids=ids)
            if isinstance(control, Confirm) and control.always is not None and control.rule is not None:
                return AddRule(control.rule, control.always)
            return None
        case _:
            return control


def plain_secrets(secrets: Mapping[str, AnySecret | None]) -> dict[str, str | None]:
    """Return secrets in the form that is sent. Raises `ConfigurationError` for a secret that only this process can
    have.
    """
    return {name: _plain(name, secret) for name, secret in secrets.items()}


def _plain(name: str, secret: Any) -> str | None:
    if secret is None or isinstance(secret, str):
        return secret
    if isinstance(secret, StaticSecret):
        return secret.value
    raise ConfigurationError(
        f"secret {name!r} is a {type(secret).__name__}, which a server cannot ask for: give its value as a str"
    )
