"""The close codes of a socket (RFC 6455, section 7.4): each tells the client what to do."""

from __future__ import annotations

from typing import NamedTuple

from ...frames import Problem

REASON = 120
"""Maximum bytes of a reason; a close frame has room for 123."""

GOING_AWAY = 1001
"""Reconnect, with your cursors."""
FAILED = 1011
"""The server failed."""
TRY_LATER = 1013
"""Reconnect later."""
UNAUTHENTICATED = 4001
FORBIDDEN = 4003
MISSING = 4004
NO_PROGRESS = 4008
"""The client did not read a message, or did not answer a heartbeat."""
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
    """The close code of a socket, and its reason."""

    code: int
    reason: str


def closing(problem: Problem) -> Closing:
    """Return the close code and reason for a socket that cannot go on because of a problem."""
    why = f"{problem.title}: {problem.detail}" if problem.detail else problem.title
    return Closing(_BY_STATUS.get(problem.status, FAILED), why)


def cut(reason: str) -> str:
    """Return a reason, cut to the bytes that there is room for."""
    return reason.encode()[:REASON].decode(errors="ignore")
