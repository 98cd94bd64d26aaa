"""The forms in which a text may contain a secret's value. Pure.

The forms are: the value itself; the value escaped as in JSON, Python, XML or a shell; and each line of a key in a PEM
file. For a value of 8 characters or more also: percent-encoding, hexadecimal, also byte by byte, and base64, wherever
the value begins in the encoded data.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Callable, Iterable
from urllib.parse import quote

SHORTEST_ENCODED = 8
"""Minimum number of characters of a value that is also looked for in base64, hexadecimal and percent-encoding."""

TIMES_ESCAPED = 3
"""How many times a value may be escaped: an event is JSON, and may contain a text of JSON with a string of JSON in it.
"""

_LINE = re.compile(r"(?!-----)(?:.{16,}|(?!(?:[A-Z]?[a-z]+|[A-Z]+)\Z)[\w+/=-]{8,})")
"""A line of a value of several lines that is a secret by itself: a long one, or a piece of base64 that is not a word,
but not the frame of a key."""

_PERCENT = re.compile(r"%[0-9A-F]{2}")

_UNRESERVED = ("", "/", "!'()*", "!'()*;,/?:@&=+$#")
"""Characters that are not percent-encoded: by Python, by Python in paths, and by the two functions of JavaScript."""

_IN_DOUBLE_QUOTES = re.compile(r'[\\"$`]')
_IN_NO_QUOTES = re.compile(r"[^\w@%+=:,./\n-]")

_LEADING = (0, 2, 3)
"""Number of base64 characters at the beginning that also depend on the 0, 1 or 2 bytes before the value."""


def written(value: str) -> frozenset[str]:
    """Return the forms that are never broken over lines; none for an empty value. Space around a value is ignored."""
    value = value.strip()
    if not value:
        return frozenset()
    plain = {value, value.replace("\n", "\r\n"), repr(value)[1:-1], repr(value + '"')[1:-2], _json_in_html(value)}
    plain |= {html.escape(value), html.escape(value, quote=False), *_in_a_shell(value), value.replace("/", "\\/")}
    plain |= {html.escape(value).replace("&#x27;", quoted) for quoted in ("&#39;", "&apos;")}
    found = {escaped for form in plain for escaped in _escaped_json(form)}
    if len(value) >= SHORTEST_ENCODED:
        found |= _percent_encoded(value) | _byte_by_byte(value)
    if "\n" in value:
        found |= {line for line in map(str.strip, value.splitlines()) if _LINE.fullmatch(line)}
    return frozenset(found)


def encoded(value: str) -> frozenset[str]:
    """Return the forms that an encoder may break over lines anywhere; none for a value of fewer than 8 characters."""
    value = value.strip()
    if len(value) < SHORTEST_ENCODED:
        return frozenset()
    data = value.encode("utf-8", "surrogatepass")
    found = {data.hex(), data.hex().upper()}
    for before in range(len(_LEADING)):
        found |= _in_base64(data, before)
    return frozenset(found)


def shortest(forms: Iterable[str]) -> tuple[str, ...]:
    """Return the forms that contain no other form: a text that contains none of these contains no form."""
    kept: list[str] = []
    for form in sorted(forms, key=len):
        if not any(other in form for other in kept):
            kept.append(form)
    return tuple(kept)


def _escaped_json(form: str) -> set[str]:
    escapes: list[Callable[[str], str]] = [_json, _json_in_ascii]
    found = latest = {form}
    for _ in range(TIMES_ESCAPED):
        latest = {escape(text) for text in latest for escape in escapes}
        found = found | latest
    return found


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _json_in_ascii(text: str) -> str:
    return json.dumps(text)[1:-1]


def _json_in_html(text: str) -> str:
    """Return a text as Go writes it in JSON."""
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", _json(text))


def _in_a_shell(value: str) -> set[str]:
    """Return a value as a shell prints it: in single quotes, in double quotes, and with backslashes alone."""
    return {
        shlex.quote(value).removeprefix("'").removesuffix("'"),
        value.replace("'", "'\\''"),
        _IN_DOUBLE_QUOTES.sub(r"\\\g<0>", value),
        _IN_NO_QUOTES.sub(r"\\\g<0>", value),
    }


def _percent_encoded(value: str) -> set[str]:
    found: set[str] = set()
    for unreserved in _UNRESERVED:
        form = quote(value, safe=unreserved, errors="surrogatepass")
        found |= {form, form.replace("%20", "+")}
    return found | {_PERCENT.sub(lambda match: match[0].lower(), form) for form in found}


def _byte_by_byte(value: str) -> set[str]:
    """Return each byte in hexadecimal with separators: as in a URL, a dump or a string."""
    data = value.encode("utf-8", "surrogatepass")
    pairs = [data.hex(" "), data.hex(" ").upper()]
    found = {form.replace(" ", between) for form in pairs for between in (" ", ":")}
    found |= {"%" + form.replace(" ", "%") for form in pairs}
    escapes = {f"{before}x" + form.replace(" ", f"{before}x") for form in pairs for before in ("\\", "\\\\", "\\" * 4)}
    return found | escapes  # the latter also escaped as JSON, once and twice


def _in_base64(data: bytes, before: int) -> set[str]:
    """Return base64 of a value after `before` bytes: the characters that depend on the value alone, and those of a
    value that ends the data.
    """
    found: set[str] = set()
    settled = (before + len(data)) * 8 // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for end in (b"", b"\n"):
            whole = encode(bytes(before) + data + end).decode()[_LEADING[before] :]
            found |= {whole, whole.rstrip("="), whole[: settled - _LEADING[before]]}
    return found
