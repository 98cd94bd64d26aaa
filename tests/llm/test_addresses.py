"""Where a URL leads."""

from __future__ import annotations

import pytest

from agentrt.llm.addresses import Address, address_of

pytestmark = pytest.mark.pure

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://München.example/v1?a=ü b", "https://xn--mnchen-3ya.example/v1?a=%C3%BC%20b"),
        ("https://Me:SecreT@München.example/v1", "https://Me:SecreT@xn--mnchen-3ya.example/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://a.example/models/x%2Fy:stream?alt=sse", "http://a.example/models/x%2Fy:stream?alt=sse"),
    ],
)
def test_an_address_is_sent_as_the_web_wants_it(url: str, sent: str) -> None:
    assert address_of(url).url == sent


def test_an_address_knows_its_server_and_its_user() -> None:
    expected = Address("http://me:secret@h:1/v1", "http://h:1", "", has_user=True)
    assert address_of("http://me:secret@h:1/v1") == expected


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://a.example/", "a.example/v1", "http:///v1", "http://a:99999/", "http://[::1/"),
        *(f"http://me:{SECRET}/x@h/", f"http://me:9{SECRET}/"),
    ],
)
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ValueError, match="the address is not valid") as raised:
        address_of(url)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("proxy", "used"),
    [
        ("proxy.example:3128", "http://proxy.example:3128"),
        (" http://proxy.example:3128\n", "http://proxy.example:3128"),
        ("socks5h://me:pä%40ss@proxy.example", "socks5h://me:p%C3%A4%40ss@proxy.example"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_a_proxy_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, proxy: str, used: str) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    assert address_of("https://a.example/v1").proxy == used
    assert address_of("http://a.example/v1").proxy == ""


@pytest.mark.parametrize(
    "proxy",
    [
        f"http://me:{SECRET}@proxy:99999",
        f"ftp://me:{SECRET}@proxy",
        f"http://me:{SECRET}@[::1",
        f"http://me:a@{SECRET}@proxy",
        f"http://me:a/{SECRET}@proxy",
    ],
)
def test_a_proxy_that_is_none_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ValueError, match="the proxy that the environment names for it is not valid") as raised:
        address_of("https://a.example/v1")
    assert SECRET not in str(raised.value)
