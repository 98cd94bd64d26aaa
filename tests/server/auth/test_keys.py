from __future__ import annotations

import ast
import hashlib
import hmac
import inspect
import sys
from types import FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ConfigurationError
from agentrt.server.auth.keys import LIKE_A_KEY, NOBODY, ApiKey, digest_of, is_it, new_key, split
from agentrt.server.principals import Scope

pytestmark = pytest.mark.pure


def test_only_a_hash_of_a_key_is_kept() -> None:
    key, text = new_key("ada", [Scope.STEER, Scope.OBSERVE, Scope.STEER], now=1.0)
    key_id, secret = split(text) or ("", "")
    assert (key.id, key.owner, key.scopes) == (key_id, "ada", (Scope.OBSERVE, Scope.STEER))
    assert key.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in repr(key)
    assert LIKE_A_KEY.search(text)
    assert len(secret) * 6 >= 256


def test_a_key_is_known_by_its_secret_alone() -> None:
    key, text = new_key("ada", [Scope.STEER], now=1.0)
    _, other = new_key("ada", [Scope.STEER], now=1.0)
    assert is_it(key, text.split("_", 2)[2])
    assert not is_it(key, other.split("_", 2)[2])
    assert not is_it(None, text.split("_", 2)[2])
    assert not is_it(None, "")


def comparisons(key: ApiKey | None, secret: str) -> tuple[bool, int]:
    """Whether it is the key's, and how often `hmac.compare_digest` was called to find that out."""
    calls = list[object]()

    def watch(frame: FrameType, event: str, called: object) -> None:
        if event == "c_call" and called is hmac.compare_digest:
            calls.append(called)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        found = is_it(key, secret)
    finally:
        sys.setprofile(before)
    return found, len(calls)


def test_it_is_compared_in_constant_time() -> None:
    """The one comparison is `hmac.compare_digest`, of two digests of one length, also for an id that there is not."""
    key, text = new_key("ada", [Scope.STEER], now=1.0)
    secret = text.split("_", 2)[2]
    assert comparisons(key, secret) == (True, 1)
    assert comparisons(key, "wrong") == (False, 1)
    assert comparisons(None, secret) == (False, 1)
    assert {len(digest) for digest in (key.digest, digest_of(secret), digest_of("wrong"), NOBODY)} == {64}
    tree = ast.parse(inspect.getsource(is_it))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and _equals(node)]


def _equals(node: ast.Compare) -> bool:
    return any(isinstance(operator, ast.Eq | ast.NotEq | ast.In) for operator in node.ops)


def test_a_key_is_good_until_it_expires_or_is_revoked() -> None:
    key, _ = new_key("ada", [Scope.STEER], now=100.0, expires=200.0)
    assert key.is_good(199.9)
    assert not key.is_good(200.0)
    assert not msgspec.structs.replace(key, revoked=150.0).is_good(160.0)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"owner": ""}, "invalid owner"),
        ({"owner": "a\nb"}, "invalid owner"),
        ({"owner": "../x"}, "invalid owner"),
        ({"scopes": []}, "needs a scope"),
        ({"expires": 1.0}, "in the future"),
    ],
)
def test_what_cannot_be_a_key_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        new_key(**{"owner": "ada", "scopes": [Scope.STEER], "now": 1.0, **given})


@given(st.text())
def test_what_is_no_key_is_none(text: str) -> None:
    assert split(text) is None
    assert split(f"agentrt_0123456789ab_{text}") is None or len(text) == 43
