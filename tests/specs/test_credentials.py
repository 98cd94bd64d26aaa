"""Credentials: how they are given, shown and hidden."""

from __future__ import annotations

import pytest

from agentrt.errors import ConfigurationError
from agentrt.specs.credentials import BasicAuth, BearerAuth, KeyAuth, OAuth, headers_of, shown_by
from agentrt.specs.mcp import MCPServer, expanded

pytestmark = pytest.mark.pure


def test_a_text_is_a_token_or_stands_for_a_login() -> None:
    assert MCPServer(url="https://a", auth="abcdef").credentials == BearerAuth("abcdef")
    assert MCPServer(url="https://a", auth="oauth").credentials == OAuth()
    with pytest.raises(ConfigurationError, match="only a server over HTTP"):
        MCPServer(command="x", auth="abcdef")


def test_what_is_shown_is_hidden_and_the_words_around_it_are_not() -> None:
    assert shown_by(headers_of(BearerAuth("abcdefghij"))) == ("Bearer abcdefghij", "abcdefghij")
    assert shown_by({"Accept": "text/plain", "X-Max-Tokens": "4096", "Tokenizer": "sentencepiece"}) == ()
    assert shown_by(headers_of(KeyAuth("key-12345"))) == ("key-12345", "key-12345")
    assert "YWRhOnNlY3JldA==" in shown_by(headers_of(BasicAuth("ada", "secret")))


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (MCPServer(url="${URL}"), "the values of URL do not make a valid server"),
        (MCPServer(url="http://a:99999/mcp"), "its url is not an address"),
        (MCPServer(url="http://[::1"), "its url is not an address"),
        (MCPServer(url="http://a", auth="top\nsecret"), "its header 'Authorization' has characters"),
        (MCPServer(url="http://a", headers={"X-Key": "grün"}), "its header 'X-Key' has characters"),
        (MCPServer(url="http://a", headers={"X Key": "x"}), "its header 'X Key' has characters"),
    ],
)
def test_what_cannot_be_sent_is_told_without_its_value(server: MCPServer, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as refused:
        expanded(server, lambda name: "canary-no-address")
    assert "canary" not in str(refused.value)
    assert "secret" not in str(refused.value)
