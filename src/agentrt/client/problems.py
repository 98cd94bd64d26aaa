"""Converts the problems that a server reports to the errors of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from .. import errors
from ..errors import (
    AgentrtError,
    ConversationMissing,
    CursorExpired,
    ModelError,
    NotAllowed,
    NotAuthenticated,
    RemoteError,
    RequestRefused,
)
from ..frames import Problem

_AGAIN = ": what was seen may be gone"


class _Told(NamedTuple):
    """A received problem, and the conversation that it is about."""

    problem: Problem
    name: str
    """The name of the conversation."""

    @property
    def detail(self) -> str:
        return self.problem.detail or self.problem.title

    @property
    def place(self) -> Path:
        """A placeholder for the path of a file on the server, which the server does not reveal."""
        return Path(self.name)

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before a retry."""
        found = self.problem.data.get("retry_after")
        return float(found) if isinstance(found, int | float) else None

    def text(self, name: str, otherwise: str | None = None) -> str:
        """Return the problem's text with a name. Raises `KeyError` if there is none, and no default."""
        found = self.problem.data.get(name, otherwise)
        if found is None:
            raise KeyError(name)
        return str(found)

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.problem.data[name]
        return tuple(found) if isinstance(found, tuple) else (str(found),)

    def number(self, name: str) -> int:
        found = self.problem.data[name]
        if not isinstance(found, int):
            raise KeyError(name)
        return found

    @property
    def cause(self) -> OSError:
        return OSError(self.text("cause", self.detail))


def _model(kind: type[ModelError]) -> Callable[[_Told], AgentrtError]:
    return lambda told: kind(told.detail, retry_after=told.retry_after)


_ERRORS: Mapping[str, Callable[[_Told], AgentrtError]] = {
    "error": lambda told: AgentrtError(told.detail),
    "configuration": lambda told: errors.ConfigurationError(told.detail),
    "validation": lambda told: errors.ConfigurationError(told.detail),
    "unknown-model": lambda told: errors.UnknownModel(told.text("model"), told.text("nearest", "")),
    "missing-key": lambda told: errors.MissingKey(told.text("model"), told.texts("variables")),
    "workspace-missing": lambda told: errors.WorkspaceMissing(Path(told.text("path"))),
    "profile-missing": lambda told: errors.ProfileMissing(told.text("name"), told.texts("known")),
    "tool-missing": lambda told: errors.ToolMissing(told.text("name"), told.texts("known")),
    "no-answer": lambda told: errors.NoAnswer(told.text("status"), told.text("why"), told.text("code")),
    **dict.fromkeys(errors.WorkspaceError.REASONS, lambda told: errors.WorkspaceError(told.problem.code, told.detail)),
    "log": lambda told: errors.LogError(told.detail),
    "conversation-missing": lambda told: ConversationMissing(told.text("name", told.name)),
    "conversation-exists": lambda told: errors.ConversationExists(told.text("name", told.name)),
    "cursor-expired": lambda told: CursorExpired(told.text("why", told.detail.partition(_AGAIN)[0])),
    "log-locked": lambda told: errors.LogLocked(told.text("name", told.name)),
    "log-corrupt": lambda told: errors.LogCorrupt(
        told.place,
        told.number("line"),
        told.text("reason"),
        repairable=told.problem.data.get("after") != 0,
    ),
    "log-failed": lambda told: errors.LogFailed(told.place, told.cause),
    "conversation-busy": lambda told: errors.ConversationBusy(),
    "event-refused": lambda told: errors.EventRefused(told.detail),
    "limit-reached": lambda told: errors.LimitReached(told.text("limit"), told.text("why")),
    "no-longer-due": lambda told: errors.NoLongerDue(told.text("command")),
    "version-conflict": lambda told: errors.VersionConflict(told.text("name")),
    "model": _model(ModelError),
    "model-authentication": _model(errors.AuthenticationFailed),
    "model-rate-limit": _model(errors.RateLimited),
    "model-context-window": _model(errors.ContextWindowExceeded),
    "model-content-policy": _model(errors.ContentRefused),
    "model-bad-request": _model(errors.BadModelRequest),
    "model-budget": lambda told: errors.BudgetExceeded(told.text("limit"), told.detail),
    "model-timeout": _model(errors.ModelTimeout),
    "model-unavailable": _model(errors.ModelUnavailable),
    "model-nothing-recorded": lambda told: errors.NothingRecorded(told.place, told.text("why")),
    "model-recording": lambda told: errors.RecordingFailed(told.place, told.cause),
    "remote": lambda told: RemoteError(told.detail),
    "remote-not-authenticated": lambda told: NotAuthenticated(told.text("url")),
    "remote-not-allowed": lambda told: NotAllowed(told.text("detail")),
    "remote-refused": lambda told: RequestRefused(told.number("status"), told.text("code"), told.text("detail")),
    "remote-unreachable": lambda told: errors.ServerUnreachable(told.text("url"), told.text("why")),
    "remote-outcome-unknown": lambda told: errors.OutcomeUnknown(told.text("what")),
    "tool": lambda told: errors.ToolError(told.detail),
    "call-cut": lambda told: errors.CallCut(told.detail),
    "server-missing": lambda told: errors.ServerMissing(told.text("name"), told.texts("known")),
    "actor": lambda told: errors.ActorError(told.detail),
    "actor-crashed": lambda told: errors.ActorCrashed(told.name, RemoteError(told.detail)),
    "actor-stopped": lambda told: errors.ActorStopped(told.name),
}
"""The errors by their codes. The conversation's name replaces the names of files and actors of the server."""


def problem_in(status: int, body: bytes) -> Problem:
    """Return the problem in a response; for a response of an intermediary, a problem with its status."""
    try:
        return msgspec.json.decode(body, type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Problem(title="The server cannot be reached", status=status, detail=f"HTTP status {status}")


def error_of(problem: Problem, url: str, name: str) -> AgentrtError:
    """Return the error for a problem with the conversation `name` at `url`, of the class that the server raised.

    A problem with an unknown code, or without the necessary details, is a `RequestRefused`.
    """
    told = _Told(problem, name)
    with suppress(KeyError):
        return _ERRORS[problem.code](told)
    if problem.status == 401:
        return NotAuthenticated(url)
    if problem.status == 403:
        return NotAllowed(told.detail)
    return RequestRefused(problem.status, problem.code, told.detail)


def error_of_close(code: int, reason: str, url: str, name: str) -> AgentrtError | None:
    """Return the error for the code that closed a socket; None if the socket should be reconnected."""
    match code:
        case 4001:
            return NotAuthenticated(url)
        case 4003:
            return NotAllowed(reason or "this key may not follow the conversation")
        case 4004:
            return ConversationMissing(name)
        case 4009:
            return RequestRefused(400, "garbage", reason or "the server did not understand this client")
        case 4010:
            return CursorExpired(reason.partition(_AGAIN)[0] or "the server's log is another than it was")
        case _:
            return None
