"""Errors of a conversation's log."""

from __future__ import annotations

from pathlib import Path

from .base import AgentrtError


class LogError(AgentrtError):
    """Base of all errors of a conversation's log."""


class ConversationMissing(LogError):
    """Raised when a store has no conversation with that id."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no conversation {name!r}: 'agentrt list' shows those that exist")


class ConversationExists(LogError):
    """Raised when a conversation is created with an id that is taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"conversation {name!r} exists already: open it without an agent, or choose another id")


class CursorExpired(LogError):
    """Raised for a cursor that is invalid in the log as it is now: of an earlier epoch, or beyond the end."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"{why}: what was seen may be gone, start over from 0")


class LogLocked(LogError):
    """Raised when the conversation is already open for writing, in this process or another."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"conversation {name!r} is open elsewhere: close it there, or read it with 'agentrt show'")


class LogCorrupt(LogError):
    """Raised when a durable record is damaged; the file is left as it is.

    `after` is the seq of the last event before the damage; None if it is not known. `repairable` tells whether a forced
    repair would keep a part of the log.
    """

    def __init__(
        self, where: Path | str, line: int, reason: str, after: int | None = None, *, repairable: bool = True
    ) -> None:
        self.where, self.line, self.reason, self.after, self.repairable = where, line, reason, after, repairable
        otherwise = (
            "cut it with 'agentrt log repair --force'"
            if repairable
            else "delete the conversation with 'agentrt delete'"
        )
        super().__init__(
            f"{where}:{line}: {reason}; the log is damaged and was left untouched: 'agentrt show' shows what is intact,"
            f" 'agentrt log verify' checks it; restore it from a copy, or {otherwise}"
        )


class LogFailed(LogError):
    """Raised when a log could not be written; it acknowledges nothing more until it is opened again.

    If it does not `stop`, only bytes beside the log could not be stored. A model may see that, so it has no path.
    """

    def __init__(self, where: Path | str, cause: OSError, *, stops: bool = True) -> None:
        self.where, self.cause, self.stops = where, cause, stops
        why = cause.strerror or cause
        super().__init__(
            f"cannot write {where}: {why}; the conversation stops: use it again once that is fixed"
            if stops
            else f"cannot store a file beside the conversation's log: {why}; do this again once that is fixed"
        )


class ConversationBusy(LogError):
    """Raised for a message that comes while the agent works, if the busy policy is to reject it."""

    def __init__(self) -> None:
        super().__init__("the agent is at work: send the message again when it has ended, or with busy='enqueue'")


class EventRefused(LogError):
    """Raised when an event would break an invariant of the history."""


class LimitReached(EventRefused):
    """Raised when a conversation has used up its quota; `limit` is the code of the limit."""

    def __init__(self, limit: str, why: str) -> None:
        self.limit, self.why = limit, why
        super().__init__(f"{why}: go on in a new conversation, or have this one's quota raised")


class NoLongerDue(LogError):
    """Raised for an outcome of a command that another event has already ended."""

    def __init__(self, command: str) -> None:
        self.command = command
        super().__init__(f"command {command!r} is no longer due: an interrupt, a rewind or another outcome came first")
