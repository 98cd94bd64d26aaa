"""Which proxy an address is reached through."""

from __future__ import annotations

import pytest

from agentrt.network.proxies import proxy_of

pytestmark = pytest.mark.pure

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_without_a_variable_there_is_none() -> None:
    assert proxy_of("https", "example.org", 443) is None


def test_each_scheme_has_its_own_and_one_may_be_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://secure:1")
    monkeypatch.setenv("all_proxy", "http://all:2")
    assert proxy_of("https", "example.org") == "http://secure:1"
    assert proxy_of("http", "example.org") == "http://all:2"


@pytest.mark.parametrize(
    ("excluded", "is_excluded"),
    [
        ("example.org", True),
        (".example.org", True),
        ("api.example.org:443", True),
        ("other.org, example.org", True),
        ("*", True),
        ("api.example.org:444", False),
        ("ample.org", False),
        ("", False),
    ],
)
def test_no_proxy_excludes_hosts(monkeypatch: pytest.MonkeyPatch, excluded: str, is_excluded: bool) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://secure:1")
    monkeypatch.setenv("NO_PROXY", excluded)
    assert proxy_of("https", "api.example.org", 443) == (None if is_excluded else "http://secure:1")
