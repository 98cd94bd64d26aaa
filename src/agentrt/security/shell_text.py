"""Text of the shell: its escapes, its quoting, and the marks that stand for what cannot be known. Pure."""

from __future__ import annotations

import re
import shlex

ANY = "\ue000"
"""Stands in a word for any text at all."""
FACT = "\ue001"
"""Stands for harmless text: a number, a date, a name of a file without a slash."""
FIELD = "\ue002"
"""Stands between the words of `"$@"`."""
DATA = "\ue003"
"""Stands for what a command prints that was not worked out: content of this machine."""
SECRET = "\ue004"
"""Stands for a variable whose name says that it holds a secret."""
FETCHED = "\ue005"
"""Stands for what came over a network."""
DECODED = "\ue006"
"""Stands for text that was decoded or otherwise changed on the way."""

UNKNOWN_MARKS = frozenset({ANY, DATA, SECRET, FETCHED, DECODED})
MARKS = UNKNOWN_MARKS | {FACT, FIELD}
_MARKS = re.compile(f"[{ANY}-{DECODED}]")
_ANSI = re.compile(
    r"\\(?:x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|(.))", re.S
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def without_marks(text: str) -> str:
    """`text` as it came, with none of the marks in it."""
    return _MARKS.sub("\ufffd", text)


def known(text: str) -> bool:
    """Whether all of `text` is known, letter by letter."""
    return not _MARKS.search(text)


def settled(text: str) -> bool:
    """Whether what is not known of `text` is harmless."""
    return not any(mark in text for mark in UNKNOWN_MARKS)


def quote(words: tuple[str, ...]) -> str:
    """Shell source for `words`."""
    return " ".join(shlex.quote(word) for word in words)


def unescape(text: str) -> str:
    """An unquoted word: each backslash protects one character, and joins lines."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)


def unescape_quoted(text: str) -> str:
    """Text in double quotes."""
    if "\\" not in text:
        return text
    return re.sub(r'\\([$`"\\])', r"\1", text.replace("\\\n", ""))


def decode_ansi(text: str) -> str:
    """What stands in `$'...'`, or is printed by `printf` and `echo -e`. Bytes beyond ASCII are read as UTF-8."""
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
