"""`Cipher`: encrypts the secrets that the log keeps."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Callable

from ..errors import ConfigurationError
from ..specs.secrets import Token

_KEY_BYTES = 32
_NONCE_BYTES = 12
_VERSION = "aes256gcm:"
_HOW = "make one with Cipher.new_key() and keep it outside of the store"


class Cipher:
    """AES-256 in Galois/Counter Mode (NIST SP 800-38D): without the key, nobody can read or forge a token.

    The key is 32 random bytes in base64, as `new_key` and Fernet make them; a passphrase is refused, because it could
    be guessed. To change the key, give the `older` ones after the new one: they only decrypt. A token can be decrypted
    only for the place that it was encrypted for. Raises `ConfigurationError` for an invalid key, and if `cryptography`
    is not installed.
    """

    def __init__(self, key: str, *older: str) -> None:
        secrets = [_key(text) for text in (key, *older)]
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # optional
        except ImportError:
            raise ConfigurationError("encrypting secrets needs 'pip install agentrt[secrets]'") from None
        self._ciphers = [AESGCM(secret) for secret in secrets]
        spellings = tuple(
            encode(secret).decode() for secret in secrets for encode in (base64.b64encode, base64.urlsafe_b64encode)
        )
        self.spellings: Callable[[], tuple[str, ...]] = lambda: spellings
        """Returns the keys as text, for a mask. It is a function, because a function shows nothing when printed."""

    @staticmethod
    def new_key() -> str:
        """Return a new random key."""
        return base64.urlsafe_b64encode(os.urandom(_KEY_BYTES)).decode()

    def encrypt(self, value: str, place: str) -> Token:
        """Return a token that `decrypt` turns into the value, for the same place only."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._ciphers[0].encrypt(nonce, value.encode(), place.encode())
        return _VERSION + base64.urlsafe_b64encode(sealed).decode()

    def decrypt(self, token: Token, place: str) -> str:
        """Return the value. Raises `ConfigurationError` for another key, another place, or a changed token."""
        from cryptography.exceptions import InvalidTag

        for cipher in self._ciphers:
            with contextlib.suppress(InvalidTag, ValueError):
                sealed = base64.b64decode(token.removeprefix(_VERSION), altchars=b"-_", validate=True)
                return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode()).decode()
        raise ConfigurationError(
            "it was encrypted with another key, or changed: give the old key after the current one"
        )

    def __repr__(self) -> str:
        return "Cipher(<hidden>)"


def _key(text: str) -> bytes:
    try:
        secret = base64.b64decode(text.strip(), altchars=b"-_", validate=True)
    except (AttributeError, ValueError):  # not text, or not base64
        secret = b""
    if len(secret) != _KEY_BYTES:
        raise ConfigurationError(f"the key for secrets is not {_KEY_BYTES} bytes in base64: {_HOW}")
    return secret
