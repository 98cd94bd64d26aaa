"""Converts a provider's refusal to an error of this package, by its HTTP status and, if needed, its message. Pure."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

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
_USER = re.compile("//[^/]*@")
_ANY_USER = re.compile("(?<!/)//.*@")

STATUSES = {
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "billing_error": 402,
    "insufficient_quota": 402,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "not_found_error": 404,
    "request_too_large": 413,
    "timeout_error": 408,
}
"""HTTP statuses for providers' error types, for errors within a stream or an answer with HTTP 200."""

_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "exceeds the context window",
    "exceeds the available context size",
    "exceeds the maximum number of tokens allowed",
    "exceeded model token limit",
    "exceed context limit",
    "input tokens exceed the configured limit",
    "`inputs` tokens + `max_new_tokens` must be",
    "input too long:",
    "longer than the model's context length",
    "maximum context length",
    "maximum context limit",
    "maximum input length is",
    "maximum prompt length is",
    "prompt is too long",
    "reduce the length of the messages",
    "request_too_large",
    "while limit is",
)
"""Lower-case phrases of providers for a conversation that is too long; some are from litellm."""

_NO_CREDIT = ("insufficient_quota", "credit balance is too low")
_REFUSED = (
    "content filtering policy",
    "content management policy",
    "content_filter",
    "content_policy",
    "rejected as a result of the safety system",
    "responsibleaipolicyviolation",
    "violating our usage policy",
)


def refusal(llm: LLM, status: int, said: str, words: str, key: str, retry_after: float | None = None) -> ModelError:
    """Return the error for a call to `llm` that a provider answered with an error of that status, 0 if it has none.

    `said` is the message for people, `words` the full text, `key` the variable that has the key.
    """
    of, words = f"the provider of {llm.model!r}", words.lower()
    if status == 402 or any(part in words for part in _NO_CREDIT):
        return AuthenticationFailed(f"the account at {of} has no credit left ({said})")
    if status == 408:
        return ModelTimeout(f"{llm.model!r} did not answer in time ({said})")
    if status == 429:
        return RateLimited(f"{of} asks to wait ({said})", retry_after=retry_after)
    if status in (401, 403):
        where = "the api_key that the program gave" if llm.api_key is not None else key
        return AuthenticationFailed(f"{of} refused the key: check {where} ({said})")
    if any(part in words for part in _TOO_LONG):
        return ContextWindowExceeded(f"the conversation is longer than {llm.model!r} can read ({said})")
    if any(part in words for part in _REFUSED):
        return ContentRefused(f"{of} refused the content ({said})")
    if status == 404:
        where = f", or {llm.base_url} is not its whole address, which often ends with /v1" if llm.base_url else ""
        missing = BadModelRequest(f"the provider has no model {llm.model!r}{where} ({said})")
        missing.no_model = True
        return missing
    if 300 <= status < 400:
        return BadModelRequest(f"{of} is at another address: set LLM.base_url ({said})")
    if 400 <= status < 500:
        return BadModelRequest(f"{of} rejected the request ({said})")
    code = f"HTTP {status}: " if status else ""
    return ModelUnavailable(f"{of} failed ({code}{said})", retry_after=retry_after)


def unreachable(llm: LLM, said: str, address: str | None = None) -> ModelUnavailable:
    """Return the error for a call without an answer; `address` is where it went, unless that is the provider's own."""
    address = address or llm.base_url
    where = "" if address is None else f" at {_without_user(address)}: does a server run there?"
    return ModelUnavailable(f"{llm.model!r} cannot be reached{where} ({said})")


def _without_user(address: str) -> str:
    """Return an address without a password, which may have a "/" in it if the address is not valid."""
    try:
        valid = urlsplit(address).port != 0
    except ValueError:
        valid = False
    return (_USER if valid else _ANY_USER).sub("//", address)


def late(llm: LLM) -> ModelTimeout:
    """Return the error for a call that took too long."""
    return ModelTimeout(f"{llm.model!r} did not answer within {llm.timeout:g} s")


def one_line(said: str, mask: Mask) -> str:
    """Return a text as one line, masked before it is cut, because half a key must be masked too."""
    words = " ".join(mask.text(said).split())
    return words if len(words) <= _LONGEST else words[:_LONGEST] + "..."


def wait_in(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that a provider asks to wait, if its headers give a usable value.

    Retry-After is a number of seconds or a date (RFC 9110, 10.2.3), which is compared with `now`, by default the
    current time. OpenAI and Azure also send milliseconds, in Retry-After-Ms.
    """
    said, milliseconds = headers.get("retry-after", ""), _number(headers.get("retry-after-ms"))
    seconds = milliseconds / 1000 if milliseconds is not None else _number(said)
    if seconds is None and (date := _date(said)) is not None:
        seconds = date - (time.time() if now is None else now)
    return seconds if seconds is not None and math.isfinite(seconds) and seconds >= 0 else None


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
