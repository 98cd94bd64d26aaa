"""Constructors of ratings; `highest`: combines several ratings into one. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..specs import SecurityRisk
from ..specs.flow import Label, Sink
from .rating import Rating

NAMED = 5
"""Maximum number of dangers that a person is told."""

_BETWEEN = "; "
_ORDER = {SecurityRisk.LOW: 0, SecurityRisk.MEDIUM: 1, SecurityRisk.UNKNOWN: 2, SecurityRisk.HIGH: 3}


def low(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """Return a LOW rating."""
    return Rating(SecurityRisk.LOW, reason, sinks, labels)


def medium(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """Return a MEDIUM rating."""
    return Rating(SecurityRisk.MEDIUM, reason, sinks, labels)


def unknown(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """Return an UNKNOWN rating."""
    return Rating(SecurityRisk.UNKNOWN, reason, sinks, labels)


def high(reason: str, sinks: tuple[Sink, ...] = (), labels: tuple[Label, ...] = ()) -> Rating:
    """Return a HIGH rating."""
    return Rating(SecurityRisk.HIGH, reason, sinks, labels)


def weight(rating: Rating) -> int:
    """Return the rank of a rating: LOW, MEDIUM, UNKNOWN, HIGH. An unknown risk may be worse than MEDIUM."""
    return _ORDER[rating.risk]


def highest(ratings: Iterable[Rating], otherwise: str = "no known risk") -> Rating:
    """Return a rating with the highest risk, with the sinks and labels of all ratings. Its reason names each
    danger, those of the highest risk first.

    Without ratings, return LOW with the reason `otherwise`.
    """
    some = tuple(ratings)
    if not some:
        return low(otherwise)
    top = max(some, key=weight)
    sinks: tuple[Sink, ...] = tuple(dict.fromkeys(sink for rating in some for sink in rating.sinks))
    labels: tuple[Label, ...] = tuple(dict.fromkeys(label for rating in some for label in rating.labels))
    return Rating(top.risk, _dangers(top, some), sinks, labels)


def _dangers(top: Rating, ratings: tuple[Rating, ...]) -> str:
    """Return the reasons of all ratings that are not LOW, each once, those of the highest risk first."""
    if top.risk is SecurityRisk.LOW:
        return top.reason
    dangers = sorted((one for one in ratings if one.risk is not SecurityRisk.LOW), key=weight, reverse=True)
    return _BETWEEN.join(dict.fromkeys(reason for one in dangers for reason in one.reason.split(_BETWEEN)))


def shortened(reason: str) -> str:
    """Return a reason as a person is told it: with the first dangers, and the number of the others."""
    named = reason.split(_BETWEEN)
    more = len(named) - NAMED
    return _BETWEEN.join([*named[:NAMED], f"and {more} more"]) if more > 0 else reason
