"""The codes with which a socket is closed (RFC 6455, section 7.4): each says what the client should do."""

from __future__ import annotations

from typing import NamedTuple

from ...frames import Problem

REASON = 120
"""Bytes that a reason may have, of the 123 that there is room for."""

GOING_AWAY = 1001
"""Come again, with your cursors."""
FAILED = 1011
"""The server failed."""
TRY_LATER = 1013
"""Come again later."""
UNAUTHENTICATED = 4001
FORBIDDEN = 4003
MISSING = 4004
NO_PROGRESS = 4008
"""What was sent was not taken, or heartbeats were not answered."""
GARBAGE = 4009
CURSOR_EXPIRED = 4010
"""Start over from 0."""

_BY_STATUS = {
    400: GARBAGE,
    401: UNAUTHENTICATED,
    403: FORBIDDEN,
    404: MISSING,
    410: CURSOR_EXPIRED,
    422: GARBAGE,
    423: TRY_LATER,
    429: TRY_LATER,
    503: TRY_LATER,
}


class Closing(NamedTuple):
    """How a socket is closed."""

    code: int
    reason: str


def closing(problem: Problem) -> Closing:
    """How a socket is closed that has no use because of a problem."""
    why = f"{problem.title}: {problem.detail}" if problem.detail else problem.title
    return Closing(_BY_STATUS.get(problem.status, FAILED), why)


def cut(reason: str) -> str:
    """As much of a reason as there is room for."""
    return reason.encode()[:REASON].decode(errors="ignore")
