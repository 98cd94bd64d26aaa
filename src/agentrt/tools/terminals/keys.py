"""Converts a model's input to the bytes that a terminal sends. Pure."""

from __future__ import annotations

import re

_PLAIN = {
    "UP": b"\x1b[A", "DOWN": b"\x1b[B", "RIGHT": b"\x1b[C", "LEFT": b"\x1b[D", "HOME": b"\x1b[H", "END": b"\x1b[F",
    "PGUP": b"\x1b[5~", "PGDN": b"\x1b[6~", "TAB": b"\t", "ESC": b"\x1b", "BS": b"\x7f", "ENTER": b"\n",
}  # fmt: skip
"""Keys of a plain terminal (xterm's ctlseqs)."""

_ON_SCREEN = {
    **_PLAIN, "ENTER": b"\r", "HOME": b"\x1b[1~", "END": b"\x1b[4~", "INS": b"\x1b[2~", "DEL": b"\x1b[3~",
    "SPACE": b" ", "LT": b"<",
    **{f"F{n}": f"\x1b[[{'ABCDE'[n - 1]}".encode() for n in range(1, 6)},
    **{f"F{n}": f"\x1b[{code}~".encode() for n, code in zip(range(6, 13), (17, 18, 19, 20, 21, 23, 24), strict=True)},
}  # fmt: skip
"""Keys of a screen, whose TERM is `linux` (console_codes(4))."""
_ALSO = {
    "CR": "ENTER", "RETURN": "ENTER", "ESCAPE": "ESC", "BACKSPACE": "BS", "DELETE": "DEL", "INSERT": "INS",
    "PAGEUP": "PGUP", "PAGEDOWN": "PGDN",
}  # fmt: skip
_NAMED = re.compile(r"<([A-Z][A-Za-z0-9]*|[CM]-.)>")

_CONTROL = re.compile(r"[Cc]-[A-Za-z@\[\\\]^_]")

INTERRUPT = b"\x03"


def typed(text: str) -> bytes:
    """Return the bytes of a line of input, or of a key that is given by its name."""
    if text in _PLAIN:
        return _PLAIN[text]
    if (control := _control(text)) is not None:
        return control
    return text.encode() + (b"" if text.endswith("\n") else b"\n")


def typed_on_screen(text: str) -> bytes:
    """Return the bytes of a text, with no newline added. It may be or contain key names: `ix = 1<Esc>:wq<Enter>`."""
    whole = _key(text) if text.isupper() or _CONTROL.fullmatch(text) else None
    return (
        whole if whole is not None else _NAMED.sub(_named, text.replace("\n", "\r")).encode("utf-8", "surrogateescape")
    )


def _named(found: re.Match[str]) -> str:
    key = _key(found[1])
    return found[0] if key is None else key.decode()


def _key(name: str) -> bytes | None:
    upper = name.upper()
    found = _ON_SCREEN.get(_ALSO.get(upper, upper)) if len(name) > 1 else None
    if found is None and len(name) == 3 and upper.startswith("M-"):
        return b"\x1b" + name[2].encode()
    return found if found is not None else _control(name)


def _control(name: str) -> bytes | None:
    return bytes([ord(name[2].upper()) - 64]) if _CONTROL.fullmatch(name) else None
