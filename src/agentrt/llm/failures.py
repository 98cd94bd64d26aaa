"""Converts litellm's exceptions to this package's errors. (Checked against litellm 1.106.)"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

from ..errors import ContentRefused, ContextWindowExceeded, ModelError
from ..secrets import Mask
from ..specs import LLM
from .providers import provider_of
from .refusals import late, one_line, refusal, unreachable, wait_in
from .wires import error_in

_PREFIX = re.compile(r"^(?:litellm\.\w+: |\w+(?:Exception|Error)(?: \w+Error)?(?: - |: )\.?)+")
_SUFFIX = re.compile(r"(?:\.|(?<!\s))\s*+Handle with `litellm\.\w+`\.?$")
_BYTES = re.compile(r"^b(['\"])(.*)\1$", re.DOTALL)
"""The wrapping that litellm adds before, behind and around the provider's message."""

_UNCONNECTED = "Connect"
"""The word in the names of all exceptions that libraries raise when there is no connection."""


def model_error(litellm: ModuleType, error: Exception, llm: LLM, mask: Mask) -> ModelError:
    """Return the `ModelError` for an exception of a call to `llm`; an unknown one counts as unavailable.

    litellm knows some failures only by their status, or not on every interface; then the provider's message decides.
    The error's message is one line, and `mask` is applied to it: some providers repeat the key that they refuse.
    """
    if isinstance(error, ModelError):
        error.args = (_one_line(error, mask),)
        return error
    kinds = litellm.exceptions
    error = _cause(error)
    if any(isinstance(one, TimeoutError | kinds.Timeout) for one in _chain(error)):
        return late(llm)
    words, said = " ".join(map(_words, _chain(error))), _one_line(error, mask)
    if isinstance(error, kinds.ContextWindowExceededError):
        return ContextWindowExceeded(f"the conversation is longer than {llm.model!r} can read ({said})")
    if isinstance(error, kinds.ContentPolicyViolationError):
        return ContentRefused(f"the provider of {llm.model!r} refused the content ({said})")
    status = _status_of(kinds, error)
    if status is None or any(_UNCONNECTED in type(one).__name__ for one in _chain(error)):
        return unreachable(llm, said)
    return refusal(llm, status, said, words, _variable(llm), _retry_after(error))


def _status_of(kinds: ModuleType, error: Exception) -> int | None:
    """Return the HTTP status of a failure, or None without an answer. litellm reports many errors as bad requests."""
    match error:
        case kinds.RateLimitError():
            return 429
        case kinds.NotFoundError():
            return 404
        case kinds.AuthenticationError() | kinds.PermissionDeniedError():
            return 401
        case kinds.BadRequestError() | kinds.UnprocessableEntityError():
            return _status(error) or 400
        case kinds.APIConnectionError():
            return None
        case _:
            status = _status(error)
            return status if status is not None and status >= 400 else 0


def _cause(error: Exception) -> Exception:
    """Return the error that broke a stream, if litellm wraps it."""
    while isinstance(within := getattr(error, "original_exception", None), Exception):
        error = within
    return error


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Return an exception and its causes."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _words(error: BaseException) -> str:
    """Return the message with the provider's own code, which not all exceptions show."""
    return f"{error} {getattr(error, 'code', '')} {getattr(error, 'body', '')}"


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of the innermost exception of a chain."""
    found: list[int | None] = [getattr(cause, "status_code", None) for cause in _chain(error)]
    return next((status for status in reversed(found) if status is not None), None)


def _variable(llm: LLM) -> str:
    """Return the name of the variable that has its key."""
    provider = provider_of(llm)
    usual = provider.keys[0] if provider is not None else "the provider's key"
    return "api_key" if llm.api_key is not None else llm.api_key_env or usual


def _one_line(error: Exception, mask: Mask) -> str:
    """Return the provider's message, if litellm repeats its answer."""
    text = mask.text(str(error).partition("Traceback (most recent")[0]).strip()
    said = _BYTES.sub(r"\2", _SUFFIX.sub("", _PREFIX.sub("", text)).strip())
    if said.startswith("{"):
        said = error_in(said.encode()).said
    return one_line(said, mask) or type(error).__name__


def _retry_after(error: Exception) -> float | None:
    return wait_in(getattr(error, "litellm_response_headers", None) or {})
