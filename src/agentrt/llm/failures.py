"""litellm's exceptions as ours."""

from __future__ import annotations

from types import ModuleType

from ..errors import (
    AuthenticationFailed,
    BadModelRequest,
    ContentRefused,
    ContextWindowExceeded,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
)
from ..specs import LLM

_LONGEST = 300


def model_error(litellm: ModuleType, error: Exception, llm: LLM) -> ModelError:
    """The `ModelError` that an exception of a call to `llm` is; what is unknown counts as unavailable."""
    kinds = litellm.exceptions
    said = _one_line(error)
    refused = _status(error) in (401, 403)  # litellm calls some of these a bad request, by their words
    match error:
        case kinds.AuthenticationError() | kinds.PermissionDeniedError() | kinds.BadRequestError() if (
            refused or not isinstance(error, kinds.BadRequestError)
        ):
            key = llm.api_key_env or "the provider's key"
            return AuthenticationFailed(f"the provider of {llm.model!r} refused the key: check {key} ({said})")
        case kinds.RateLimitError():
            return RateLimited(f"the provider of {llm.model!r} asks to wait ({said})", retry_after=_retry_after(error))
        case kinds.ContextWindowExceededError():
            return ContextWindowExceeded(f"the conversation is longer than {llm.model!r} can read ({said})")
        case kinds.ContentPolicyViolationError():
            return ContentRefused(f"the provider of {llm.model!r} refused the content ({said})")
        case kinds.Timeout():
            return ModelTimeout(f"{llm.model!r} did not answer within {llm.timeout:g} s")
        case kinds.NotFoundError():
            return BadModelRequest(f"the provider has no model {llm.model!r} ({said})")
        case kinds.BadRequestError() | kinds.UnprocessableEntityError():
            return BadModelRequest(f"the provider of {llm.model!r} rejected the request ({said})")
        case _:
            return ModelUnavailable(f"{llm.model!r} cannot be reached ({said})")


def _status(error: BaseException) -> int | None:
    """The HTTP status at the bottom of a chain of exceptions."""
    status = None
    cause: BaseException | None = error
    while cause is not None:
        status = getattr(cause, "status_code", status)
        cause = cause.__cause__ or cause.__context__
    return status


def _one_line(error: Exception) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "..."


def _retry_after(error: Exception) -> float | None:
    headers = getattr(error, "litellm_response_headers", None) or {}
    try:
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None
