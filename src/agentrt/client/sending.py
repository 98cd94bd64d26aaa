"""How a control is sent so that a cut does no harm: what is named, what may be said twice, how long it may take."""

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
"""What is not said twice without looking: doing it twice is not doing it once."""

TRACES: Mapping[type[Control], type[Event]] = {
    StartRun: RunRequested,
    Rewind: HeadMoved,
    Condense: CondensationRequest,
}
"""By which event one knows that it was done. An amount that is granted is not looked for: somebody must."""

MODEL_SECONDS = 600.0
"""How long the answer to a control may take for which a model is called."""


def seconds_of(control: AnyControl) -> float | None:
    """How long its answer may take; None: as long as any."""
    return MODEL_SECONDS if isinstance(control, (AskAgent, GenerateTitle)) else None


def named(control: AnyControl, state: State) -> AnyControl | None:
    """The control with names for what it makes and what it means, so that it counts once; None: it means nothing.

    A person who approves all approves what was shown here, not what has come meanwhile.
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
    """Secrets as they are sent. Raises `ConfigurationError` for one that only this process can have."""
    return {name: _plain(name, secret) for name, secret in secrets.items()}


def _plain(name: str, secret: Any) -> str | None:
    if secret is None or isinstance(secret, str):
        return secret
    if isinstance(secret, StaticSecret):
        return secret.value
    raise ConfigurationError(
        f"secret {name!r} is a {type(secret).__name__}, which a server cannot ask for: give its value as a str"
    )
