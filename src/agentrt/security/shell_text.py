"""Shell text: escapes, quoting, and the marks that stand for text that is not known. Pure."""

from __future__ import annotations

import re
import shlex

ANY = "\ue000"
"""Mark for any text at all."""
FACT = "\ue001"
"""Mark for harmless text: a number, a date, a file name without a slash."""
FIELD = "\ue002"
"""Separator between the words of `"$@"`, or of another array."""
DATA = "\ue003"
"""Mark for output of a command that was not worked out: content of this machine."""
SECRET = "\ue004"
"""Mark for a secret: a variable with a name that says so, the environment, the text of a secret file."""
FETCHED = "\ue005"
"""Mark for content that came over a network."""
DECODED = "\ue006"
"""Mark for text that was decoded or otherwise changed on the way."""

UNKNOWN_MARKS = frozenset({ANY, DATA, SECRET, FETCHED, DECODED})
MARKS = UNKNOWN_MARKS | {FACT, FIELD}
_MARKS = re.compile(f"[{ANY}-{DECODED}]")
_ANSI = re.compile(
    r"\\(?:x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|(.))", re.S
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def without_marks(text: str) -> str:
    """Return `text` with U+FFFD in place of marks, so that source cannot contain any."""
    return _MARKS.sub("\ufffd", text)


def known(text: str) -> bool:
    """Return whether all of `text` is known: it contains no marks."""
    return not _MARKS.search(text)


def settled(text: str) -> bool:
    """Return whether the unknown parts of `text` are harmless."""
    return not any(mark in text for mark in UNKNOWN_MARKS)


def quote(words: tuple[str, ...]) -> str:
    """Return shell source for `words`."""
    return " ".join(shlex.quote(word) for word in words)


def unescape(text: str) -> str:
    """Unescape an unquoted word: a backslash protects one character, and joins lines."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)


def unescape_quoted(text: str) -> str:
    """Unescape text in double quotes."""
    if "\\" not in text:
        return text
    return re.sub(r'\\([$`"\\])', r"\1", text.replace("\\\n", ""))


def decode_ansi(text: str) -> str:
    """Decode the escapes of `$'...'`, `printf` and `echo -e`. Bytes beyond ASCII are read as UTF-8."""
    if "\\" not in text:
        return text

    def one(match: re.Match[str]) -> str:
        byte, short, long, octal, control, letter = match.groups()
        if byte is not None:
            return _byte(int(byte, 16))
        if short is not None or long is not None:
            number = int(short or long, 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
        if octal is not None:
            return _byte(int(octal, 8) & 0xFF)
        if control is not None:
            return chr(ord(control.upper()) & 0x1F)
        return _LETTERS.get(letter, letter if letter in "\\'\"?" else "\\" + letter)

    decoded = _ANSI.sub(one, text)
    return decoded.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _byte(number: int) -> str:
    return chr(number) if number < 0x80 else bytes([number]).decode("utf-8", "surrogateescape")
