"""`Rating`: what there is to know of an action before it runs."""

from __future__ import annotations

import msgspec

from ..specs import SecurityRisk
from ..specs.flow import Label, Sink


class Rating(msgspec.Struct, frozen=True):
    """How dangerous an action is, and why; where its effect goes, and what nobody vouches for its result will hold."""

    risk: SecurityRisk
    reason: str = ""
    sinks: tuple[Sink, ...] = ()
    labels: tuple[Label, ...] = ()
