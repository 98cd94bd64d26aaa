"""The base of all errors, and those that belong to no other group."""

from __future__ import annotations


class AgentrtError(Exception):
    """Base of all errors of this package."""


class NoAnswer(AgentrtError):
    """Raised when a run ended without an answer; `status` is its final status, `code` that of its error."""

    def __init__(self, status: str, why: str, code: str = "") -> None:
        self.status, self.why, self.code = status, why, code
        super().__init__(f"the run ended without an answer ({status}): {why}")


class VersionConflict(AgentrtError):
    """Raised when a document was changed by another process between reading and replacing it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} was changed since it was read: read it again")
