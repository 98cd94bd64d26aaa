"""Errors of the server of a remote conversation."""

from __future__ import annotations

from .base import AgentrtError


class RemoteError(AgentrtError):
    """Base of the errors of connecting to a server."""


class NotAuthenticated(RemoteError):
    """Raised when a server requires an API key, or does not know the given one."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(f"{url} does not take this API key: give RemoteWorkspace(url, api_key=...) one that it knows")


class NotAllowed(RemoteError):
    """Raised when an API key does not allow the request."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(f"not allowed: {detail}")


class RequestRefused(RemoteError):
    """Raised when a server refuses a request, or fails at it; `status` is the HTTP status, `code` the problem's."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status, self.code, self.detail = status, code, detail
        super().__init__(f"the server answered {status}{f' ({code})' if code else ''}: {detail}")


class ServerUnreachable(RemoteError):
    """Raised when a server did not answer within the time limit."""

    def __init__(self, url: str, why: str) -> None:
        self.url, self.why = url, why
        super().__init__(f"{url} cannot be reached: {why}; check that the server runs and can be reached from here")


class OutcomeUnknown(RemoteError):
    """Raised when the connection was lost before the answer, and a retry might repeat the operation."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"the connection was cut before {what!r} was answered: check whether it was done, then continue"
        )
