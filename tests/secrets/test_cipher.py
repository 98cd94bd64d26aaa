"""`Cipher`: what it encrypts is read with its key only, and only in its place."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ConfigurationError
from agentrt.secrets import Cipher

pytestmark = pytest.mark.pure

KEY = Cipher.new_key()


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_a_value_comes_back(value: str, place: str) -> None:
    cipher = Cipher(KEY)
    token = cipher.encrypt(value, place)
    assert Cipher(KEY).decrypt(token, place) == value
    assert token != cipher.encrypt(value, place)


@pytest.mark.parametrize("place", ["there", ""])
def test_a_token_is_of_no_use_elsewhere(place: str) -> None:
    token = Cipher(KEY).encrypt("hunter22", "here")
    with pytest.raises(ConfigurationError, match="another key, or changed"):
        Cipher(KEY).decrypt(token, place)
    with pytest.raises(ConfigurationError, match="another key, or changed"):
        Cipher(Cipher.new_key()).decrypt(token, "here")


@given(st.integers(min_value=0), st.sampled_from("AB0-_="))
def test_a_changed_token_is_refused(place: int, character: str) -> None:
    token = Cipher(KEY).encrypt("hunter22", "here")
    place %= len(token)
    changed = token[:place] + character + token[place + 1 :]
    try:
        assert Cipher(KEY).decrypt(changed, "here") == "hunter22"
    except ConfigurationError:
        return
    assert changed.rstrip("=")[:-1] == token.rstrip("=")[:-1]


@pytest.mark.parametrize("token", ["", "aes256gcm:", "aes256gcm:AAAA", "nonsense", "aes256gcm:ä"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigurationError, match="another key, or changed"):
        Cipher(KEY).decrypt(token, "here")


@pytest.mark.parametrize("key", ["", "a passphrase", base64.b64encode(bytes(range(16))).decode(), "ä" * 44])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match=r"32 bytes in base64: make one with Cipher.new_key\(\)"):
        Cipher(key)


def test_nothing_shows_the_key() -> None:
    assert repr(Cipher(KEY)) == "Cipher(<hidden>)"
    assert KEY not in str(vars(Cipher(KEY)))
