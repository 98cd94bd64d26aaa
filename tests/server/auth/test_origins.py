from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ConfigurationError
from agentrt.server.auth.origins import Place, checked_origins, is_ours, may_come_from, place_of

from .connections import connection

pytestmark = pytest.mark.pure

CORS = ("https://console.example",)


@pytest.mark.parametrize(
    ("header", "place"),
    [
        ("localhost", Place("localhost")),
        ("LOCALHOST.:8000", Place("localhost", 8000)),
        ("[::1]:8000", Place("::1", 8000)),
        ("a.b-c_d:1", Place("a.b-c_d", 1)),
        ("", None),
        ("user@localhost", None),
        ("localhost:8000:1", None),
        ("localhost/x", None),
        ("::1", None),
        ("local host", None),
        ("localhost\n", None),
        ("localhost,evil.example", None),
        ("lоcalhost", None),
    ],
)
def test_a_host_header_is_a_name_and_a_port(header: str, place: Place | None) -> None:
    assert place_of(header) == place


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "10.0.0.5", "agents.example", "a.b.org"]
)
def test_a_server_answers_as_itself(host: str) -> None:
    assert is_ours(host, {"10.0.0.5"}, ("Agents.example", "*.b.org"))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.localhost",
        "10.0.0.6",
        "b.org",
        "xb.org",
        "2130706433",
        "0x7f.1",
        "127.1",
        "0.0.0.0",
        "::ffff:10.0.0.5",
    ],
)
def test_a_server_answers_as_nobody_else(host: str) -> None:
    assert not is_ours(host, {"10.0.0.5"}, ("agents.example", "*.b.org"))


HERE = "agents.example"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://agents.example"},
        {"origin": "https://agents.example"},
        {"origin": "http://agents.example:80"},
        {"origin": "https://console.example", "sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-origin", "origin": "http://agents.example"},
        {"sec_fetch_site": "none"},
    ],
)
def test_a_page_of_the_server_and_those_that_are_named_may_change_things(headers: dict[str, str]) -> None:
    assert may_come_from(connection("POST", host=HERE, **headers), CORS)
    assert may_come_from(connection(kind="websocket", host=HERE, **headers), CORS)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": ""},
        {"origin": "http://agents.example:8080"},
        {"origin": "http://agents.example.evil.example"},
        {"origin": "http://evil.example@agents.example"},
        {"origin": "file://agents.example"},
        {"origin": "https://console.example.evil.example"},
        {"origin": "http://console.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "same-site", "origin": "http://agents.example"},
    ],
)
def test_a_page_of_others_may_not(headers: dict[str, str]) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "QUERY", "X"):
        assert not may_come_from(connection(method, host=HERE, **headers), CORS)
    assert not may_come_from(connection(kind="websocket", host=HERE, **headers), CORS)


def test_a_page_of_others_may_lead_here_and_embed_nothing() -> None:
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert may_come_from(connection(host=HERE, **link), CORS)
    assert not may_come_from(connection(host=HERE, sec_fetch_site="cross-site", sec_fetch_mode="no-cors"), CORS)
    assert not may_come_from(connection(host=HERE, sec_fetch_site="same-site", sec_fetch_mode="cors"), CORS)
    assert may_come_from(connection("OPTIONS", host=HERE, sec_fetch_site="cross-site"), CORS)


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_sent_it_is_said(host: str, origin: str) -> None:
    place_of(host)
    try:
        asked = connection("POST", host=host, origin=origin)
    except UnicodeEncodeError:
        return
    assert isinstance(may_come_from(asked, CORS), bool)


@pytest.mark.parametrize("origin", ["*", "https://*.example", "example", "https://a.example/", "null", "ftp://a", ""])
def test_what_is_no_origin_cannot_be_allowed(origin: str) -> None:
    with pytest.raises(ConfigurationError, match="not an origin"):
        checked_origins([origin])
