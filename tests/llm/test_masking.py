"""Secrets are taken out of what is written down."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agentrt.llm.masking import Mask, holds_key, keys_of
from agentrt.specs import LLM, FallbackLLM


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


def test_a_secret_goes_wherever_it_stands() -> None:
    mask = Mask(["hunter2", "hunter2-and-more", ""])
    assert mask.text("hunter2-and-more, hunter2") == "<secret>, <secret>"
    given = {"content": [{"type": "text", "text": "it is hunter2"}], "n": 2, "none": None}
    assert mask.json(given) == {"content": [{"type": "text", "text": "it is <secret>"}], "n": 2, "none": None}
    assert Mask([]).text("as it is") == "as it is"


def test_a_secret_that_is_a_word_of_the_format_leaves_the_format_whole() -> None:
    mask = Mask(["user", "text"])
    given = {"role": "user", "content": [{"type": "text", "text": "the user's text"}]}
    assert mask.json(given) == {"role": "user", "content": [{"type": "text", "text": "the <secret>'s <secret>"}]}


def test_a_header_for_a_key_loses_its_value() -> None:
    given = {"extra_headers": {"X-Api-Key": "abc", "Authorization": "Bearer abc", "anthropic-beta": "abc"}}
    assert Mask([]).json(given) == {
        "extra_headers": {"X-Api-Key": "<secret>", "Authorization": "<secret>", "anthropic-beta": "abc"}
    }


def test_which_headers_hold_keys() -> None:
    for name in ("Authorization", "Proxy-Authorization", "x-api-key", "api_key", "X-Auth-Token", "Cookie", "apikey"):
        assert holds_key(name), name
    for name in ("anthropic-beta", "User-Agent", "x-request-id", "max_tokens", "key_points"):
        assert not holds_key(name), name


@given(st.text(min_size=4), st.text(max_size=20), st.text(max_size=20))
def test_a_secret_goes_also_out_of_json_in_a_text(secret: str, before: str, after: str) -> None:
    arguments = msgspec.json.encode({"command": before + secret + after}).decode()
    mask = Mask([secret])
    said = mask.json({"arguments": arguments})["arguments"]
    if secret in before + after or secret in '{"command":"<secret>"}':
        return
    assert secret not in said
    assert "<secret>" in said
