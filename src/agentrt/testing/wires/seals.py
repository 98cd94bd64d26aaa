"""Signed and encrypted thinking: how the scripted provider makes it, and knows it again."""

from __future__ import annotations

import base64
import binascii
import hashlib


def seal(text: str) -> str:
    """`text` in a form that shows any change; another process can open it too."""
    data = text.encode()
    return base64.b64encode(hashlib.sha256(data).digest() + data).decode()


def opened(sealed: str) -> str | None:
    """The text of a seal; None when it is broken."""
    try:
        data = base64.b64decode(sealed, validate=True)
        text = data[32:].decode()
    except (binascii.Error, ValueError):
        return None
    return text if hashlib.sha256(data[32:]).digest() == data[:32] else None
