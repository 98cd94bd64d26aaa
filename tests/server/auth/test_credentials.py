from __future__ import annotations

import pytest

from agentrt.server.auth.credentials import Credentials, credentials_of, is_stream
from agentrt.server.problems import Refusal

from .connections import connection

pytestmark = pytest.mark.pure

KEY = f"agentrt_{'0a' * 6}_{'xY3-' * 10}abc"  # the same in every process that collects these tests
EVENTS = "text/event-stream"


def refused(**given: str) -> tuple[int, str]:
    with pytest.raises(Refusal) as found:
        credentials_of(connection(**given))
    return found.value.problem.status, found.value.problem.code


def test_a_key_comes_in_a_header() -> None:
    assert credentials_of(connection(Authorization=f"Bearer {KEY}")) == Credentials(key=KEY)
    assert credentials_of(connection(authorization=f"bearer  {KEY} ")) == Credentials(key=KEY)
    assert credentials_of(connection(X_Session_API_Key=KEY)) == Credentials(key=KEY)
    assert credentials_of(connection(X_Session_API_Key=KEY, Authorization=f"Bearer {KEY}")) == Credentials(key=KEY)
    assert not credentials_of(connection())


@pytest.mark.parametrize(
    "query",
    [
        f"api_key={KEY}",
        "api_key=whatever",
        "token=whatever",
        "TOKEN=",
        "access_token=x",
        "session_api_key=x",
        f"query={KEY}",
        f"ticket={KEY}",
        f"q={KEY.replace('_', '%5F')}",
        f"q=%61gentrt{KEY[7:]}",
        KEY,
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_key_never_comes_in_a_url(query: str, kind: str) -> None:
    assert refused(query=query, kind=kind) == (400, "key-in-url")
    assert refused(path=f"/conversations/{KEY}", kind=kind) == (400, "key-in-url")


def test_a_ticket_is_taken_by_streams_alone() -> None:
    assert credentials_of(connection(query="ticket=x", kind="websocket")) == Credentials(ticket="x")
    assert credentials_of(connection(query="ticket=x", accept=EVENTS)) == Credentials(ticket="x")
    assert refused(query="ticket=x") == (400, "ticket-not-taken")
    assert refused(query="ticket=x", method="POST", accept=EVENTS) == (400, "ticket-not-taken")


def test_who_shows_two_keys_is_nobody() -> None:
    assert refused(Authorization="Bearer one", X_Session_API_Key="two") == (400, "two-keys")
    assert refused(Authorization="Bearer one", query="ticket=x", kind="websocket") == (400, "two-keys")
    assert refused(query="ticket=x&ticket=y", kind="websocket") == (400, "two-keys")


@pytest.mark.parametrize("header", ["Bearer", "Bearer  "], ids=["none", "blank"])
def test_a_key_that_is_none_is_refused(header: str) -> None:
    assert refused(Authorization=header) == (401, "not-authenticated")


@pytest.mark.parametrize("header", ["Basic YTpi", KEY, ""], ids=["basic", "bare", "empty"])
def test_other_ways_to_log_in_are_those_of_others(header: str) -> None:
    """Of an application that lets its own users in."""
    assert not credentials_of(connection(Authorization=header))


def test_a_stream_is_a_socket_or_an_event_stream() -> None:
    assert is_stream(connection(kind="websocket"))
    assert is_stream(connection(accept="text/html, Text/Event-Stream;q=0.9"))
    assert not is_stream(connection(accept="application/json"))
    assert not is_stream(connection(method="POST", accept=EVENTS))
