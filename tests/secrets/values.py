"""Values of secrets, and texts that hold them in one form or another, for properties."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

from hypothesis import strategies as st

from agentrt.secrets.mask import HIDDEN

_LINES = base64.encodebytes(bytes(range(7, 160))).decode()
KEY = f"-----BEGIN PRIVATE KEY-----\n{_LINES}-----END PRIVATE KEY-----\n"
"""A value of several lines."""

values = st.one_of(
    st.sampled_from(
        ["hunter2", "correct horse battery", "p&ss<w>/rd+?=%", "a\"b\\c$d'e`f", "grüße日本語🙂!", "aaaaaaaa"]
    ),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=30),
    st.text("ab", min_size=2, max_size=12),
    st.sampled_from([KEY, HIDDEN, "secret", "hidden>", "AAAABBBBCCCCDDDD" * 12]),
).filter(lambda value: value.strip() != "")
"""Short and long ones, with every kind of character, such as overlap, and such as the mark has in it."""


def in_base64(value: str, before: bytes = b"", after: bytes = b"") -> str:
    """A value in base64, between other bytes."""
    return base64.b64encode(before + value.encode() + after).decode()


def wrapped(text: str, width: int, end: str = "\n") -> str:
    """A text in lines of so many characters."""
    return end.join(text[place : place + width] for place in range(0, len(text), width))


@st.composite
def holding(draw: st.DrawFn, secrets: list[str]) -> str:
    """A text that may hold some of the secrets, in several forms, whole and cut."""
    pieces: list[str] = []
    for _ in range(draw(st.integers(0, 5))):
        secret = draw(st.sampled_from(secrets))
        before = draw(st.binary(max_size=4))
        forms = [
            secret,
            json.dumps(json.dumps(secret)),
            quote(secret, safe=""),
            quote_plus(secret).lower(),
            secret.encode().hex(),
            in_base64(secret, before, draw(st.binary(max_size=4))),
            wrapped(
                in_base64(secret, before),
                draw(st.sampled_from([60, 64, 76])),
                draw(st.sampled_from(["\n", "\r\n", r"\n", r"\\r\\n"])),
            ),
            wrapped(secret.encode().hex().upper(), 60),
            base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
        ]
        form = draw(st.sampled_from(forms))
        cut = draw(st.one_of(st.just(len(form)), st.integers(0, len(form))))
        pieces += [draw(st.text("abn<>\n \r\\🙂", max_size=6)), form[:cut]]
    return "".join((*pieces, draw(st.text(max_size=6))))
