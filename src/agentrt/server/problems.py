"""Errors as problem details (RFC 9457): which status and code each has, and the response that says it."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..errors import (
    ActorError,
    AgentrtError,
    ConfigurationError,
    ConversationBusy,
    ConversationExists,
    ConversationMissing,
    CursorExpired,
    EventRefused,
    LimitReached,
    LogCorrupt,
    LogFailed,
    LogLocked,
    ModelError,
    NoLongerDue,
    WorkspaceMissing,
)
from ..frames import Problem

MEDIA_TYPE = "application/problem+json"

STATUSES: tuple[tuple[type[AgentrtError], int, str], ...] = (
    (ConversationMissing, 404, "conversation-missing"),
    (ConversationExists, 409, "conversation-exists"),
    (ConversationBusy, 409, "conversation-busy"),
    (CursorExpired, 410, "cursor-expired"),
    (LogLocked, 423, "log-locked"),
    (LimitReached, 409, "limit-reached"),
    (EventRefused, 409, "event-refused"),
    (NoLongerDue, 409, "no-longer-due"),
    (LogCorrupt, 500, "log-corrupt"),
    (LogFailed, 503, "log-failed"),
    (WorkspaceMissing, 409, "workspace-missing"),
    (ConfigurationError, 422, "configuration"),
    (ModelError, 502, "model"),
    (ActorError, 500, "actor"),
)
"""The first that fits counts."""

HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}
"""Of what Starlette refuses by itself."""


class Refusal(Exception):
    """Raised to answer with a problem."""

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        self.problem, self.headers = problem, headers or {}
        super().__init__(problem.detail or problem.title)


def refusal(status: int, title: str, detail: str = "", code: str = "", **headers: str) -> Refusal:
    """A refusal with these words; headers with `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Refusal(Problem(title=title, status=status, detail=detail, code=code), named)


def problem_of(error: Exception) -> Problem:
    """What is said of an error; of one that is a bug only that it happened."""
    if isinstance(error, Refusal):
        return error.problem
    if isinstance(error, HTTPException):
        return Problem(title=error.detail, status=error.status_code, code=HTTP_CODES.get(error.status_code, "http"))
    if isinstance(error, msgspec.ValidationError):
        return Problem(title="The request is not valid", status=422, detail=str(error), code="validation")
    if isinstance(error, msgspec.DecodeError):
        return Problem(title="The body is no JSON", status=400, detail=str(error), code="bad-json")
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            return Problem(title=_title(kind), status=status, detail=_detail(error), code=code)
    return Problem(title="The server failed", status=500, detail="see the server's log", code="internal")


def response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """The HTTP response of a problem."""
    return Response(msgspec.json.encode(problem), status_code=problem.status, headers=headers, media_type=MEDIA_TYPE)


async def on_error(request: Request, error: Exception) -> Response:
    """The exception handler of all expected errors."""
    headers = error.headers if isinstance(error, (Refusal, HTTPException)) else None
    return response(problem_of(error), dict(headers) if headers else None)


def _detail(error: Exception) -> str:
    """What a client may be told of an error: the server's own files and code are none of its business."""
    match error:
        case LogCorrupt(line=line, reason=reason):
            return f"record {line} of the log: {reason}"
        case LogFailed(cause=cause):
            return f"the log cannot be written: {cause.strerror or cause}"
        case ActorError():
            return "see the server's log"
        case _:
            return str(error)


def _title(kind: type[AgentrtError]) -> str:
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)
    return words.strip().capitalize()
