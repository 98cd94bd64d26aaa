"""Which keys are masked in what is recorded, and what stays."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.llm.masking import holds_key, keys_of, recorded
from agentrt.secrets import HIDDEN, Mask
from agentrt.specs import LLM, FallbackLLM

pytestmark = pytest.mark.pure


def test_the_keys_of_the_environment_are_found() -> None:
    environment = {
        "OPENAI_API_KEY": "sk-0123456789",
        "LOCAL_API_KEY": "none",
        "MINE": "my own key",
        "OTHER": "not a key of these",
        "SHORT": "x",
    }
    llm = FallbackLLM((LLM(model="a"), LLM(model="b", api_key_env="MINE"), LLM(model="c", api_key_env="SHORT")))
    assert sorted(keys_of(llm, environment)) == ["my own key", "sk-0123456789"]


def test_a_secret_that_is_a_word_of_the_format_leaves_the_format_whole() -> None:
    mask = Mask(["user", "text"])
    given = {"role": "user", "content": [{"type": "text", "said": "the user's text"}]}
    assert recorded(given, mask) == {
        "role": "user",
        "content": [{"type": "text", "said": f"the {HIDDEN}'s {HIDDEN}"}],
    }


def test_a_header_for_a_key_loses_its_value() -> None:
    given = {"extra_headers": {"X-Api-Key": "abc", "Authorization": "Bearer abc", "anthropic-beta": "abc"}}
    assert recorded([given], Mask()) == [
        {"extra_headers": {"X-Api-Key": HIDDEN, "Authorization": HIDDEN, "anthropic-beta": "abc"}}
    ]


def test_which_headers_hold_keys() -> None:
    for name in ("Authorization", "Proxy-Authorization", "x-api-key", "api_key", "X-Auth-Token", "Cookie", "apikey"):
        assert holds_key(name), name
    for name in ("anthropic-beta", "User-Agent", "x-request-id", "max_tokens", "key_points"):
        assert not holds_key(name), name


@given(st.text(min_size=8), st.text(max_size=20), st.text(max_size=20))
def test_a_secret_goes_also_out_of_json_in_a_text(secret: str, before: str, after: str) -> None:
    secret = secret.strip()
    arguments = msgspec.json.encode({"command": before + secret + after}).decode()
    said = recorded({"arguments": arguments}, Mask([secret]))["arguments"]
    if len(secret) < 8 or secret in '{"command":"<secret-hidden>"}':
        return
    assert all(secret not in left for left in said.split(HIDDEN))
    assert HIDDEN in said
