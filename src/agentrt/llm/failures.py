"""litellm's exceptions as ours. (Checked against litellm 1.106.)"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
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
from ..secrets import Mask
from ..specs import LLM

_LONGEST = 300

_TOO_LONG = ("context_length_exceeded", "exceeds the context window", "prompt is too long", "maximum context length")
_NO_CREDIT = ("insufficient_quota", "credit balance is too low")
_REFUSED = ("content filtering policy", "content_policy", "violating our usage policy")


def model_error(litellm: ModuleType, error: Exception, llm: LLM, mask: Mask) -> ModelError:
    """The `ModelError` that an exception of a call to `llm` is; what is unknown counts as unavailable.

    litellm knows some failures by their status only, or not on every interface: then the provider's words decide.
    What it says is one line, without what `mask` hides: some providers repeat the key that they refuse.
    """
    if isinstance(error, ModelError):
        error.args = (_one_line(error, mask),)
        return error
    kinds = litellm.exceptions
    error = _cause(error)
    words, said = " ".join(map(_words, _chain(error))), _one_line(error, mask)
    key = llm.api_key_env or "the provider's key"
    if any(part in words for part in _NO_CREDIT):
        return AuthenticationFailed(f"the account at the provider of {llm.model!r} has no credit left ({said})")
    match error:
        case _ if any(isinstance(one, TimeoutError | kinds.Timeout) for one in _chain(error)):
            return ModelTimeout(f"{llm.model!r} did not answer within {llm.timeout:g} s")
        case kinds.RateLimitError():
            return RateLimited(f"the provider of {llm.model!r} asks to wait ({said})", retry_after=_retry_after(error))
        case kinds.NotFoundError():
            return BadModelRequest(f"the provider has no model {llm.model!r} ({said})")
        case kinds.AuthenticationError() | kinds.PermissionDeniedError():
            return AuthenticationFailed(f"the provider of {llm.model!r} refused the key: check {key} ({said})")
        case kinds.BadRequestError() | kinds.UnprocessableEntityError():
            status = _status(error)  # litellm calls much a bad request, by a word in it
            if status in (401, 403):
                return AuthenticationFailed(f"the provider of {llm.model!r} refused the key: check {key} ({said})")
            if status == 429:
                return RateLimited(
                    f"the provider of {llm.model!r} asks to wait ({said})", retry_after=_retry_after(error)
                )
            if isinstance(error, kinds.ContextWindowExceededError) or any(part in words for part in _TOO_LONG):
                return ContextWindowExceeded(f"the conversation is longer than {llm.model!r} can read ({said})")
            if isinstance(error, kinds.ContentPolicyViolationError) or any(part in words for part in _REFUSED):
                return ContentRefused(f"the provider of {llm.model!r} refused the content ({said})")
            return BadModelRequest(f"the provider of {llm.model!r} rejected the request ({said})")
        case _:
            return ModelUnavailable(f"{llm.model!r} cannot be reached{_where(llm)} ({said})")


def _where(llm: LLM) -> str:
    """The address that somebody gave for it, without what may be a password in it."""
    return "" if llm.base_url is None else f" at {re.sub('//[^/@]*@', '//', llm.base_url)}: does a server run there?"


def _cause(error: Exception) -> Exception:
    """What broke a stream, where litellm wraps that."""
    while isinstance(within := getattr(error, "original_exception", None), Exception):
        error = within
    return error


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, and what led to it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _words(error: BaseException) -> str:
    """What is said, with the provider's own code, which not all exceptions show."""
    return f"{error} {getattr(error, 'code', '')} {getattr(error, 'body', '')}"


def _status(error: BaseException) -> int | None:
    """The HTTP status at the bottom of a chain of exceptions."""
    found: list[int | None] = [getattr(cause, "status_code", None) for cause in _chain(error)]
    return next((status for status in reversed(found) if status is not None), None)


def _one_line(error: Exception, mask: Mask) -> str:
    """What is said, masked before it is cut: half a key is one too."""
    text = mask.text(str(error).partition("Traceback (most recent")[0])
    said = " ".join(text.split()) or type(error).__name__
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "..."


def _retry_after(error: Exception) -> float | None:
    """Seconds, where the provider says a number of them that can be waited for."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    try:
        seconds = float(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
