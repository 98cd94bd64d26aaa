"""What a server says that went wrong, as the errors of this package."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..errors import (
    ActorError,
    AgentrtError,
    ConfigurationError,
    ConversationBusy,
    ConversationExists,
    ConversationMissing,
    CursorExpired,
    EventRefused,
    LogCorrupt,
    LogFailed,
    LogLocked,
    ModelError,
    NotAllowed,
    NotAuthenticated,
    RequestRefused,
)
from ..frames import Problem

_AGAIN = ": what was seen may be gone"


def problem_in(status: int, body: bytes) -> Problem:
    """The problem that a response holds; of one from something in between, its status."""
    try:
        return msgspec.json.decode(body, type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Problem(title="The server cannot be reached", status=status, detail=f"HTTP status {status}")


def error_of(problem: Problem, url: str, name: str) -> AgentrtError:
    """The error to raise for a problem with the conversation `name` at `url`."""
    detail = problem.detail or problem.title
    match problem.code:
        case "conversation-missing":
            return ConversationMissing(name)
        case "conversation-exists":
            return ConversationExists(name)
        case "conversation-busy":
            return ConversationBusy()
        case "cursor-expired":
            return CursorExpired(detail.partition(_AGAIN)[0])
        case "log-locked":
            return LogLocked(name)
        case "log-corrupt":
            return LogCorrupt(Path(name), 0, detail)
        case "log-failed":
            return LogFailed(Path(name), OSError(detail))
        case "event-refused" | "no-longer-due":
            return EventRefused(detail)
        case "configuration" | "validation" | "workspace-missing":
            return ConfigurationError(detail)
        case "model":
            return ModelError(detail)
        case "actor":
            return ActorError(detail)
    if problem.status == 401:
        return NotAuthenticated(url)
    if problem.status == 403:
        return NotAllowed(detail)
    return RequestRefused(problem.status, problem.code, detail)


def error_of_close(code: int, reason: str, url: str, name: str) -> AgentrtError | None:
    """The error to raise for the code that a socket was closed with; None where it is made anew."""
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
