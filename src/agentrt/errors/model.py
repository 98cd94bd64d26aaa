"""Errors of model calls."""

from __future__ import annotations

from pathlib import Path

from .base import AgentrtError


class ModelError(AgentrtError):
    """Raised when a model call failed; `retryable` says whether the same call may succeed later."""

    code = "model"
    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class AuthenticationFailed(ModelError):
    """Raised when a provider refuses the key."""

    code = "authentication"


class RateLimited(ModelError):
    """Raised when a provider's rate limit was reached; `retry_after` is in seconds, None if the provider gave none."""

    code = "rate_limit"
    retryable = True


class ContextWindowExceeded(ModelError):
    """Raised when the messages are longer than the model's context window."""

    code = "context_window"


class ContentRefused(ModelError):
    """Raised when a provider's content policy refuses the request."""

    code = "content_policy"


class BadModelRequest(ModelError):
    """Raised when a provider rejects the request as malformed, or does not have the model (`no_model`)."""

    code = "bad_request"
    no_model = False


class BudgetExceeded(ModelError):
    """Raised when a call might exceed a limit; the call was not sent."""

    def __init__(self, limit: str, message: str) -> None:
        self.limit = self.code = limit
        super().__init__(message)


class ModelTimeout(ModelError):
    """Raised when a provider did not answer in time."""

    code = "timeout"
    retryable = True


class ModelUnavailable(ModelError):
    """Raised when a provider cannot be reached, fails, or breaks off its answer."""

    code = "unavailable"
    retryable = True


class NothingRecorded(ModelError):
    """Raised when a recording has no unused answer to a request; `why` says what differs."""

    code = "nothing_recorded"

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"no recorded answer to this request in {path}: {why}\nIf that is meant, record it again.")


class RecordingFailed(ModelError):
    """Raised when a model call was made but could not be recorded."""

    code = "recording"

    def __init__(self, path: Path, cause: OSError) -> None:
        self.path, self.cause = path, cause
        super().__init__(f"cannot record to {path}: {cause.strerror or cause}; fix that, or do without a recording")
