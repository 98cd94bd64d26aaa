"""Detection of look-alike letters and invisible characters. Pure."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u2060-\u2064\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]|\r(?!\n)")
_TOKEN = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]")
_CONFUSABLE = re.compile("[\u0370-\u03ff\u0400-\u052f\u0531-\u058f\u13a0-\u13ff]")
_LONG = re.compile("[\ufdfa\ufdfb]")
"""Characters that stand for 18 and 8 others: a text of them would become that many times as long."""
_NOT_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def normalise(text: str) -> str:
    """Return `text` in Unicode normal form NFKC, without invisible characters."""
    if text.isascii():
        return text
    short = _LONG.sub(" ", text)
    return _REORDERING.sub("", _INVISIBLE.sub("", unicodedata.normalize("NFKC", short))).replace("\u200d", "")


def disguise(word: str) -> str:
    """Return why `word`, a path or an option, is not what it looks like; empty if it is."""
    if word.isascii():
        return ""
    if _INVISIBLE.search(word) or _REORDERING.search(word) or re.search("[ -~]\u200d|\u200d[ -~]", word):
        return "a character that cannot be seen"
    if _NOT_SPACE.search(word):
        return "a character that only looks like a space"
    if any(_LATIN.search(token) and _CONFUSABLE.search(token) for token in _TOKEN.findall(word)):
        return "letters of another alphabet between Latin ones"
    changed = unicodedata.normalize("NFKC", word)
    if changed != word and any(
        not letter.isascii() and plain.isascii() and plain.strip()
        for letter in word
        for plain in (unicodedata.normalize("NFKC", letter),)
    ):
        return "letters that only look like ASCII"
    return ""


def foreign_name(name: str) -> str:
    """Return why the program name `name` is suspicious: it is not ASCII. Empty otherwise."""
    return "" if name.isascii() else disguise(name) or "a program's name with letters beyond ASCII"


def tampering(source: str) -> str:
    """Return why `source` does not run as it is displayed: characters that reorder it or control a terminal.

    Empty if there are none.
    """
    if not source.isascii() and _REORDERING.search(source):
        return "characters that change the order of what is shown"
    if _CONTROL.search(source):
        return "control characters"
    return ""
