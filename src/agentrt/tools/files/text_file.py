"""`TextFile`: the text of a file, and how it is stored: its encoding, its byte order mark and its line ends. Pure."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import msgspec

from ...errors import ToolError

if TYPE_CHECKING:
    from charset_normalizer.models import CharsetMatch

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The byte order marks (Unicode 16.0, 23.8); a longer mark comes before the shorter one that it begins with."""


class TextFile(msgspec.Struct, frozen=True):
    """A file's text and how it is stored; the mark is not part of the text."""

    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    mark: bytes = b""

    def typed(self, text: str) -> str:
        """Return a text from the model with the line ends of `text`."""
        return text.replace("\r\n", "\n") if self.newline == "\r\n" else text

    def stored(self, path: str) -> bytes:
        """Return the bytes of the file. Raises `ToolError` for a character that its encoding does not have."""
        try:
            return self.mark + self.text.replace("\n", self.newline).encode(self.encoding)
        except UnicodeEncodeError as error:
            raise ToolError(
                f"{path} is in {error.encoding}, which has no {error.object[error.start]!r}: convert it to UTF-8 first"
            ) from error


_WIDE = ["utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"]
"""Encodings in which almost any bytes are text; a file in one of them has a byte order mark, or NULs."""


def text_file(path: str, data: bytes, encoding: str | None = None, newline: str | None = None) -> TextFile:
    """Return the text in a file's bytes. `encoding` and `newline` are given if they are known; a byte order mark takes
    precedence. Raises `ToolError` if the bytes are not text.
    """
    mark, marked = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", None))
    if marked is None and b"\0" in data[:8192]:
        raise ToolError(f"{path} is a binary file: use the terminal on it")
    text, encoding = _decoded(path, data[len(mark) :], marked or encoding)
    if newline == "\r\n" or (newline is None and 0 < text.count("\n") == text.count("\r\n")):
        return TextFile(text.replace("\r\n", "\n"), encoding, "\r\n", mark)
    return TextFile(text, encoding, mark=mark)


def _decoded(path: str, data: bytes, encoding: str | None) -> tuple[str, str]:
    try:
        return data.decode(encoding or "utf-8"), encoding or "utf-8"
    except UnicodeDecodeError:
        best = _guess(data) if encoding is None else None
    if best is None or str(best).encode(best.encoding, errors="replace") != data:
        raise ToolError(f"{path} is not text in any known encoding: use the terminal on it")
    return str(best), best.encoding


def _guess(data: bytes) -> CharsetMatch | None:
    """Return the likeliest encoding: Western European if possible, because a short text fits many."""
    from charset_normalizer import from_bytes  # loaded for the rare file that is not UTF-8

    western = from_bytes(data, cp_isolation=["cp1252"]).best() or from_bytes(data, cp_isolation=["latin_1"]).best()
    return western or from_bytes(data, cp_exclusion=_WIDE).best()
