"""What a provider's refusal is as one of our errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import (
    AuthenticationFailed,
    BadModelRequest,
    ContentRefused,
    ContextWindowExceeded,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
)
from agentrt.llm.refusals import one_line, refusal, unreachable, wait_in
from agentrt.secrets import Mask
from agentrt.specs import LLM

pytestmark = pytest.mark.pure

MODEL = LLM(model="openai/any")

STATUSES: dict[int, type[ModelError]] = {
    0: ModelUnavailable,
    307: BadModelRequest,
    400: BadModelRequest,
    401: AuthenticationFailed,
    402: AuthenticationFailed,
    403: AuthenticationFailed,
    404: BadModelRequest,
    408: ModelTimeout,
    413: BadModelRequest,
    422: BadModelRequest,
    429: RateLimited,
    500: ModelUnavailable,
    502: ModelUnavailable,
    503: ModelUnavailable,
    529: ModelUnavailable,
}


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_an_error_of_its_kind(status: int) -> None:
    error = refusal(MODEL, status, "Said.", "Said.", "OPENAI_API_KEY", 7.0)
    assert type(error) is STATUSES[status]
    assert "Said." in str(error)
    assert "cannot be reached" not in str(error)
    if status in (401, 403):
        assert "check OPENAI_API_KEY" in str(error)
    if status >= 500:
        assert f"HTTP {status}" in str(error)
    assert error.retry_after == (7.0 if error.retryable and status != 408 else None)


TOO_LONG = {
    "OpenAI": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "OpenAI, Responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "OpenAI, GPT-5": "Input tokens exceed the configured limit of 272000 tokens.",
    "Anthropic": "prompt is too long: 200001 tokens > 200000 maximum",
    "Anthropic, with its answer": "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000",
    "Groq": "Please reduce the length of the messages or completion.",
    "Cerebras": "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    "Mistral": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Moonshot": "Invalid request: Your request exceeded model token limit: 8192",
    "Together": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097.",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
}


@pytest.mark.parametrize("provider", TOO_LONG)
def test_a_conversation_that_is_too_long_is_known_by_its_words(provider: str) -> None:
    assert type(refusal(MODEL, 400, "", TOO_LONG[provider], "")) is ContextWindowExceeded


@pytest.mark.parametrize(
    "words", ["content_policy_violation", "Output blocked by content filtering policy", "... type content_filter"]
)
def test_what_a_provider_will_not_answer_is_a_refusal(words: str) -> None:
    assert type(refusal(MODEL, 400, "", words, "")) is ContentRefused


def test_an_address_is_told_without_a_password() -> None:
    said = str(unreachable(LLM(model="openai/any", base_url="http://me:secret@127.0.0.1:9/v1"), "refused"))
    assert "at http://127.0.0.1:9/v1: does a server run there? (refused)" in said
    assert "secret" not in said
    assert "at http://h:1/v1" in str(unreachable(MODEL, "refused", "http://me:sec/ret@h:1/v1"))
    assert "at http://h:1/v1" in str(unreachable(MODEL, "refused", "http://me:se@cret@h:1/v1"))
    assert "at http://h/@x/v1" in str(unreachable(MODEL, "refused", "http://h/@x/v1"))
    assert "at http://h:1" in str(unreachable(MODEL, "refused", "http://h:1"))
    assert " at " not in str(unreachable(MODEL, "refused"))


@given(st.text(max_size=2000))
def test_what_is_said_is_one_short_line(said: str) -> None:
    line = one_line(said, Mask(()))
    assert "\n" not in line
    assert len(line) <= 303


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("", None),
        (None, None),
        ("nan", None),
        ("inf", None),
        ("-1", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:10 GMT", 10.0),
        ("Thursday, 01-Jan-70 00:01:10 GMT", 10.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", None),
        ("Thu, 01 Jan 99999999 00:00:10 GMT", None),
    ],
)
def test_a_wait_is_a_number_of_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert wait_in({} if header is None else {"retry-after": header}, now=60.0) == seconds


def test_a_wait_in_milliseconds_is_more_exact() -> None:
    assert wait_in({"retry-after": "1", "retry-after-ms": "250"}) == 0.25
    assert wait_in({"retry-after": "1", "retry-after-ms": "soon"}) == 1.0
