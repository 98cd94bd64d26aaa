"""A provider's refusal as one of our errors: by its HTTP status, and where that says too little by its words. Pure."""

from __future__ import annotations

import math
import re

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

_TOO_LONG = (
    "context_length_exceeded",
    "exceeds the context window",
    "prompt is too long",
    "maximum context length",
    "exceeds the maximum number of tokens",
)
_NO_CREDIT = ("insufficient_quota", "credit balance is too low")
_REFUSED = ("content filtering policy", "content_policy", "violating our usage policy")


def refusal(llm: LLM, status: int, said: str, words: str, key: str, retry_after: float | None = None) -> ModelError:
    """The error of a call to `llm` that a provider has answered with an error of that status, 0 where it has none.

    `said` is what a person is told of it, `words` all that was said, `key` the variable that has the key.
    """
    of = f"the provider of {llm.model!r}"
    if status == 402 or any(part in words for part in _NO_CREDIT):
        return AuthenticationFailed(f"the account at {of} has no credit left ({said})")
    if status == 408:
        return ModelTimeout(f"{llm.model!r} did not answer in time ({said})")
    if status == 429:
        return RateLimited(f"{of} asks to wait ({said})", retry_after=retry_after)
    if status in (401, 403):
        return AuthenticationFailed(f"{of} refused the key: check {key} ({said})")
    if any(part in words for part in _TOO_LONG):
        return ContextWindowExceeded(f"the conversation is longer than {llm.model!r} can read ({said})")
    if any(part in words for part in _REFUSED):
        return ContentRefused(f"{of} refused the content ({said})")
    if status == 404:
        return BadModelRequest(f"the provider has no model {llm.model!r} ({said})")
    if 400 <= status < 500:
        return BadModelRequest(f"{of} rejected the request ({said})")
    code = f"HTTP {status}: " if status else ""
    return ModelUnavailable(f"{of} failed ({code}{said})", retry_after=retry_after)


def unreachable(llm: LLM, said: str) -> ModelUnavailable:
    """The error of a call that no answer came to."""
    return ModelUnavailable(f"{llm.model!r} cannot be reached{_where(llm)} ({said})")


def late(llm: LLM) -> ModelTimeout:
    """The error of a call that took too long."""
    return ModelTimeout(f"{llm.model!r} did not answer within {llm.timeout:g} s")


def _where(llm: LLM) -> str:
    """The address that somebody gave for it, without what may be a password in it."""
    return "" if llm.base_url is None else f" at {re.sub('//[^/@]*@', '//', llm.base_url)}: does a server run there?"


def one_line(said: str, mask: Mask) -> str:
    """A text on one line, masked before it is cut: half a key is one too."""
    words = " ".join(mask.text(said).split())
    return words if len(words) <= _LONGEST else words[:_LONGEST] + "..."


def seconds_of(retry_after: str | None) -> float | None:
    """The seconds of a Retry-After header, where it says a number of them that can be waited for."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
