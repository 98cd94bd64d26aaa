"""litellm's exceptions as ours. (Checked against litellm 1.106.)"""

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
_SUFFIX = re.compile(r"\.?\s*Handle with `litellm\.\w+`\.?$")
_BYTES = re.compile(r"^b(['\"])(.*)\1$", re.DOTALL)
"""What litellm puts before the provider's words, behind them and around them."""

_UNCONNECTED = "Connect"
"""What the names of all exceptions have in them that libraries raise where there is no connection."""


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
    """The HTTP status of a failure; None without an answer. litellm calls much a bad request."""
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


def _variable(llm: LLM) -> str:
    """The variable that has its key."""
    provider = provider_of(llm)
    usual = provider.keys[0] if provider is not None else "the provider's key"
    return llm.api_key_env or usual


def _one_line(error: Exception, mask: Mask) -> str:
    """What the provider said, where litellm repeats its answer."""
    text = mask.text(str(error).partition("Traceback (most recent")[0]).strip()
    said = _BYTES.sub(r"\2", _SUFFIX.sub("", _PREFIX.sub("", text)).strip())
    if said.startswith("{"):
        said = error_in(said.encode()).said
    return one_line(said, mask) or type(error).__name__


def _retry_after(error: Exception) -> float | None:
    return wait_in(getattr(error, "litellm_response_headers", None) or {})
