"""Makes ratings, and makes one of several. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..specs import SecurityRisk
from ..specs.flow import Label, Sink
from .rating import Rating

_ORDER = {SecurityRisk.LOW: 0, SecurityRisk.MEDIUM: 1, SecurityRisk.UNKNOWN: 2, SecurityRisk.HIGH: 3}


def low(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """A LOW rating."""
    return Rating(SecurityRisk.LOW, reason, sinks, labels)


def medium(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """A MEDIUM rating."""
    return Rating(SecurityRisk.MEDIUM, reason, sinks, labels)


def unknown(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """An UNKNOWN rating."""
    return Rating(SecurityRisk.UNKNOWN, reason, sinks, labels)


def high(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """A HIGH rating."""
    return Rating(SecurityRisk.HIGH, reason, sinks, labels)


def weight(rating: Rating) -> int:
    """How ratings compare: LOW, MEDIUM, UNKNOWN, HIGH. What cannot be told may be worse than MEDIUM."""
    return _ORDER[rating.risk]


def highest(ratings: Iterable[Rating], otherwise: str = "no rule matches") -> Rating:
    """The first of the highest ratings, with the sinks and labels of all; LOW for `otherwise` when there is none."""
    some = tuple(ratings)
    if not some:
        return low(otherwise)
    top = max(some, key=weight)
    sinks: tuple[Sink, ...] = tuple(dict.fromkeys(sink for rating in some for sink in rating.sinks))
    labels: tuple[Label, ...] = tuple(dict.fromkeys(label for rating in some for label in rating.labels))
    return Rating(top.risk, top.reason, sinks, labels)
