"""Pieces of a value, of eight bytes each. They are masked because an edit, a cut or a search may show a part. Pure."""

from __future__ import annotations

import re
from collections.abc import Container

LENGTH = 8
"""Number of bytes from which on a part of a value is masked."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<authority>[^/?#\s]*)(?P<rest>\S*)")
_FRAME = re.compile(r"-----(?:BEGIN|END) [^-\n]*-----(?:\\n)?")
"""The frame around a key in PEM."""

_NAMED = re.compile(r"(?m)^[^\S\n]*+(?:export\s++)?[\w.\"'-]++\s*+[=:](?!//)")
"""The name before a value, in a settings file, YAML or JSON."""

_PREFIX = re.compile(rb"(?:[A-Za-z]{2,12}\d{0,2}[-_])+(?=.{8})")
"""The public prefix of a kind of keys: `sk-ant-api03-`, `github_pat_`."""

_PARTS = re.compile(r"[^\s\"'{}\[\],]+")
_TOKEN = re.compile(rb"[A-Za-z0-9]+")

_RANDOM = 4
"""Minimum number of bytes of a piece that belong to no word: pieces of words occur in any text."""


def pieces_of(value: str) -> frozenset[bytes]:
    """Return all pieces of `LENGTH` bytes of a value, except for those made of words, or of two different bytes."""
    found = set[bytes]()
    for text in secret_texts(value):
        random, prefix = bytearray(len(text)), _PREFIX.match(text)
        for token in _TOKEN.finditer(text, prefix.end() if prefix else 0):
            if _is_random(token[0].decode()):
                random[token.start() : token.end()] = b"\1" * len(token[0])
        for at in range(len(text) - LENGTH + 1):
            piece = text[at : at + LENGTH]
            if sum(random[at : at + LENGTH]) >= _RANDOM and len(set(piece)) > 2:
                found.add(piece)
    return frozenset(found)


def _is_random(token: str) -> bool:
    """Return whether a run of letters and digits is probably not a word."""
    if len(token) < _RANDOM:
        return False
    if any(letter.isdigit() for letter in token):
        return True
    is_word = token.islower() or token.isupper() or token.istitle()
    vowels = sum(letter in "aeiouyAEIOUY" for letter in token)
    return len(token) >= 16 or (not is_word and len(token) >= LENGTH) or vowels == 0


def whole_characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return a span, extended to whole characters (UTF-8, RFC 3629)."""
    return _begins(data, start, -1), _begins(data, end, 1)


def fragments_of(value: str) -> frozenset[bytes]:
    """Return all parts of a value that are shorter than a piece."""
    texts, lengths = secret_texts(value), range(1, LENGTH)
    return frozenset(text[at : at + length] for text in texts for length in lengths for at in range(len(text)))


def tail(data: bytes, fragments: Container[bytes]) -> int:
    """Return where the end of `data` begins that may continue as a piece; the length of `data` if nothing may."""
    length = 0
    while length < min(len(data), LENGTH - 1) and data[len(data) - length - 1 :] in fragments:
        length += 1
    return _begins(data, len(data) - length, -1)


def _begins(data: bytes, place: int, step: int) -> int:
    while 0 < place < len(data) and data[place] & 0xC0 == 0x80:
        place += step
    return place


def secret_texts(value: str) -> list[bytes]:
    """Return the parts of a value that are secret by themselves: of an address, the password or token in it, or what
    follows the host; of several lines, as in a settings file, the values. Parts shorter than a piece are left out.
    """
    texts = (text.strip() for text in _texts(value.strip()))
    return [text.encode("utf-8", "surrogatepass") for text in texts if len(text) >= LENGTH]


def _texts(value: str) -> list[str]:
    if "\n" in value or value.startswith("{"):
        plain = _NAMED.sub(" ", _FRAME.sub(" ", value))
        return [text for part in _PARTS.findall(plain) for text in _texts_of_line(part, among=True)]
    return _texts_of_line(value)


def _texts_of_line(value: str, *, among: bool = False) -> list[str]:
    """Return the secret text of one value. `among` settings, an address without a login is not a secret."""
    if (address := _ADDRESS.fullmatch(value)) is not None:
        login, found, _ = address["authority"].rpartition("@")
        user, _, password = login.partition(":")
        return [password or user] if found else [] if among else [address["rest"]]
    return [value]
