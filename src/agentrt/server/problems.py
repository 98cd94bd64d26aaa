"""Errors as problem details (RFC 9457): the status and code of each error, and its response."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .. import errors
from ..errors import (
    ActorError,
    AgentrtError,
    ConversationMissing,
    LogCorrupt,
    LogFailed,
    NothingRecorded,
    RecordingFailed,
    WorkspaceError,
)
from ..frames import Problem

MEDIA_TYPE = "application/problem+json"


class Told(NamedTuple):
    """How an error is reported: its status, its code, and the attributes that are sent with it."""

    status: int
    code: str
    names: tuple[str, ...] = ()


_LATER = ("retry_after",)

ERRORS: Mapping[type[AgentrtError], Told] = {
    errors.AgentrtError: Told(500, "error"),
    errors.ConfigurationError: Told(422, "configuration"),
    errors.UnknownModel: Told(422, "unknown-model", ("model", "nearest")),
    errors.MissingKey: Told(422, "missing-key", ("model", "variables")),
    errors.WorkspaceMissing: Told(409, "workspace-missing", ("path",)),
    errors.ProfileMissing: Told(422, "profile-missing", ("name", "known")),
    errors.ToolMissing: Told(422, "tool-missing", ("name", "known")),
    errors.NoAnswer: Told(409, "no-answer", ("status", "why", "code")),
    errors.WorkspaceError: Told(500, "file"),
    errors.LogError: Told(500, "log"),
    errors.ConversationMissing: Told(404, "conversation-missing", ("name",)),
    errors.ConversationExists: Told(409, "conversation-exists", ("name",)),
    errors.CursorExpired: Told(410, "cursor-expired", ("why",)),
    errors.LogLocked: Told(423, "log-locked", ("name",)),
    errors.LogCorrupt: Told(409, "log-corrupt", ("line", "reason", "after")),
    errors.LogFailed: Told(503, "log-failed", ("cause",)),
    errors.ConversationBusy: Told(409, "conversation-busy"),
    errors.EventRefused: Told(409, "event-refused"),
    errors.LimitReached: Told(409, "limit-reached", ("limit", "why")),
    errors.NoLongerDue: Told(409, "no-longer-due", ("command",)),
    errors.VersionConflict: Told(409, "version-conflict", ("name",)),
    errors.ModelError: Told(502, "model", _LATER),
    errors.AuthenticationFailed: Told(502, "model-authentication", _LATER),
    errors.RateLimited: Told(502, "model-rate-limit", _LATER),
    errors.ContextWindowExceeded: Told(502, "model-context-window", _LATER),
    errors.ContentRefused: Told(502, "model-content-policy", _LATER),
    errors.BadModelRequest: Told(502, "model-bad-request", _LATER),
    errors.BudgetExceeded: Told(502, "model-budget", ("limit",)),
    errors.ModelTimeout: Told(502, "model-timeout", _LATER),
    errors.ModelUnavailable: Told(502, "model-unavailable", _LATER),
    errors.NothingRecorded: Told(502, "model-nothing-recorded", ("why",)),
    errors.RecordingFailed: Told(502, "model-recording", ("cause",)),
    errors.RemoteError: Told(502, "remote"),
    errors.NotAuthenticated: Told(502, "remote-not-authenticated", ("url",)),
    errors.NotAllowed: Told(502, "remote-not-allowed", ("detail",)),
    errors.RequestRefused: Told(502, "remote-refused", ("status", "code", "detail")),
    errors.ServerUnreachable: Told(502, "remote-unreachable", ("url", "why")),
    errors.OutcomeUnknown: Told(502, "remote-outcome-unknown", ("what",)),
    errors.ToolError: Told(502, "tool"),
    errors.CallCut: Told(502, "call-cut"),
    errors.ServerMissing: Told(404, "server-missing", ("name", "known")),
    errors.ActorError: Told(500, "actor"),
    errors.ActorCrashed: Told(500, "actor-crashed"),
    errors.ActorStopped: Told(500, "actor-stopped"),
}
"""How each error is reported. An error of another class is reported like the nearest base class in this table."""

FILES: Mapping[str, int] = {
    "path": 422,
    "path-outside": 403,
    "file": 500,
    "file-missing": 404,
    "file-permission": 403,
    "file-changed": 409,
    "file-too-large": 413,
    "not-a-file": 409,
    "not-a-directory": 409,
    "archive-too-large": 413,
    "disk-full": 507,
    "busy": 503,
    "elsewhere": 409,
    "not-open": 404,
    "command": 422,
    "command-missing": 404,
    "too-many-commands": 409,
    "git-missing": 404,
    "git-no-commit": 404,
    "no-checkpoint": 404,
    "git-not-installed": 501,
    "git-too-large": 413,
    "git-timeout": 504,
    "too-many-files": 413,
    "git-failed": 409,
}
"""The status of a `WorkspaceError`, by its code."""

HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}
"""The codes of Starlette's own errors, by status."""


_REPAIR = (
    "its intact events can still be read; on the server's machine 'agentrt log verify' checks the log, and"
    " 'agentrt log repair --force' cuts it there; or restore it from a copy"
)
_RESTORE = (
    "on the server's machine 'agentrt show' shows what is intact, and 'agentrt log verify' checks the log;"
    " restore it from a copy, or delete the conversation"
)


class Refusal(Exception):
    """An exception that is answered with a problem."""

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        self.problem, self.headers = problem, headers or {}
        super().__init__(problem.detail or problem.title)


def refusal(status: int, title: str, detail: str = "", code: str = "", **headers: str) -> Refusal:
    """Return a refusal; names of headers have `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Refusal(Problem(title=title, status=status, detail=detail, code=code), named)


def problem_of(error: Exception) -> Problem:
    """Return the problem of an error; of a bug, it says only that the server failed."""
    if isinstance(error, Refusal):
        return error.problem
    if isinstance(error, HTTPException):
        return Problem(title=error.detail, status=error.status_code, code=HTTP_CODES.get(error.status_code, "http"))
    if isinstance(error, msgspec.ValidationError):
        return Problem(title="The request is not valid", status=422, detail=str(error), code="validation")
    if isinstance(error, msgspec.DecodeError):
        return Problem(title="The body is not JSON", status=400, detail=str(error), code="bad-json")
    if isinstance(error, WorkspaceError):
        return Problem(WorkspaceError.REASONS[error.code].capitalize(), FILES[error.code], error.detail, error.code)
    for kind in type(error).__mro__:
        if (told := ERRORS.get(kind)) is not None:
            data = {name: _plain(value) for name in told.names if (value := getattr(error, name)) is not None}
            return Problem(_title(kind), told.status, _detail(error), told.code, data=data)
    return Problem(title="The server failed", status=500, detail="see the server's log", code="internal")


def response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """Return the HTTP response of a problem."""
    return Response(msgspec.json.encode(problem), status_code=problem.status, headers=headers, media_type=MEDIA_TYPE)


async def on_error(request: Request, error: Exception) -> Response:
    """Handle an exception: return its problem as a response."""
    headers = error.headers if isinstance(error, (Refusal, HTTPException)) else None
    return response(problem_of(error), dict(headers) if headers else None)


def _detail(error: Exception) -> str:
    """Return what a client may be told of an error: nothing of the server's own files and code."""
    match error:
        case LogCorrupt(line=line, reason=reason, repairable=repairable):
            return f"record {line} of the log: {reason}; {_REPAIR if repairable else _RESTORE}"
        case LogFailed(cause=cause):
            return f"the log cannot be written: {_plain(cause)}"
        case NothingRecorded(why=why):
            return f"no recorded answer to this request: {why}"
        case RecordingFailed(cause=cause):
            return f"the call cannot be recorded: {_plain(cause)}"
        case ActorError():
            return "see the server's log"
        case ConversationMissing(name=name):
            return f"no conversation {name!r}: 'GET /conversations' lists yours"
        case _:
            return str(error)


def _plain(value: Any) -> Any:
    """Return an attribute of an error as a JSON value."""
    match value:
        case OSError():
            return value.strerror or str(value)
        case Path():
            return str(value)
        case _:
            return value


def _title(kind: type[AgentrtError]) -> str:
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)
    return words.strip().capitalize()
