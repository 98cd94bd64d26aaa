"""The forms under which a secret's value may stand in a text. Pure.

Known are: as it is; escaped as JSON, Python, XML or a shell write it; each line of a key in a PEM file; and of a value
of 8 characters or more also percent-encoded, in hexadecimal, byte by byte too, and in base64 wherever it begins in what
was encoded.
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
"""Characters from which on a value is also looked for in base64, hexadecimal and percent-encoding."""

TIMES_ESCAPED = 3
"""How often a value may be escaped: an event is JSON, which holds a text that is JSON, with a string of JSON in it."""

_LINE = re.compile(r"(?!-----)(?:.{16,}|(?!(?:[A-Z]?[a-z]+|[A-Z]+)\Z)[\w+/=-]{8,})")
"""What a line of a value of several lines is when it is a secret by itself: a long one, or a piece of base64 that is no
word; not what frames a key."""

_PERCENT = re.compile(r"%[0-9A-F]{2}")

_UNRESERVED = ("", "/", "!'()*", "!'()*;,/?:@&=+$#")
"""What stays when a URL is made: in Python, in its paths, and by the two functions of JavaScript."""

_IN_DOUBLE_QUOTES = re.compile(r'[\\"$`]')
_IN_NO_QUOTES = re.compile(r"[^\w@%+=:,./\n-]")

_LEADING = (0, 2, 3)
"""Characters at the beginning of base64 that also say something of the 0, 1 or 2 bytes before the value."""


def written(value: str) -> frozenset[str]:
    """The forms that stand in one piece; none of an empty value. Space around a value is no part of it."""
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
    """The forms that an encoder may break over lines anywhere; none of a value of less than 8 characters."""
    value = value.strip()
    if len(value) < SHORTEST_ENCODED:
        return frozenset()
    data = value.encode("utf-8", "surrogatepass")
    found = {data.hex(), data.hex().upper()}
    for before in range(len(_LEADING)):
        found |= _in_base64(data, before)
    return frozenset(found)


def shortest(forms: Iterable[str]) -> tuple[str, ...]:
    """Those that hold none of the others: where one of these is not, none of them is."""
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
    """As Go writes JSON."""
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", _json(text))


def _in_a_shell(value: str) -> set[str]:
    """As a shell prints a variable or a command: in single quotes, in double quotes, and with backslashes alone."""
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
    """Each byte in hexadecimal with something before or between: as a URL, a dump and a string may have it."""
    data = value.encode("utf-8", "surrogatepass")
    pairs = [data.hex(" "), data.hex(" ").upper()]
    found = {form.replace(" ", between) for form in pairs for between in (" ", ":")}
    found |= {"%" + form.replace(" ", "%") for form in pairs}
    escapes = {f"{before}x" + form.replace(" ", f"{before}x") for form in pairs for before in ("\\", "\\\\", "\\" * 4)}
    return found | escapes  # those as JSON has them, once and twice


def _in_base64(data: bytes, before: int) -> set[str]:
    """With `before` bytes in front: the characters that only the value makes, and those at an end of the whole."""
    found: set[str] = set()
    settled = (before + len(data)) * 8 // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for end in (b"", b"\n"):
            whole = encode(bytes(before) + data + end).decode()[_LEADING[before] :]
            found |= {whole, whole.rstrip("="), whole[: settled - _LEADING[before]]}
    return found
