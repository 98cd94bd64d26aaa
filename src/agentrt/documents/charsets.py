"""`text_of`: decodes a page by its charset, found as browsers do (WHATWG Encoding, HTML 13.2.3). Pure."""

from __future__ import annotations

import codecs
import re

LOOKED_AT = 64 << 10
"""Number of leading bytes from which an undeclared charset is guessed."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_META = re.compile(rb"""(?i)<meta[^>]{1,512}?charset\s*+=\s*+["']?\s*+([\w:.-]{1,40})""")
_XML = re.compile(rb"""^\s*<\?xml[^>]{1,256}?encoding\s*=\s*["']([\w:.-]{1,40})""")
_BECOMES = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932"}
"""Charsets that pages declare, each with the larger charset that they mean."""

_OF_PAGES = re.compile(
    r"ascii|utf-(?:8|16|32)(?:-[bl]e)?|cp\d+|iso8859-\d+|koi8-\w|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|mac-\w+"
    r"|johab|tis-620|kz1048|ptcp154|hz"
)
"""Python's codecs that are charsets and decode in linear time."""


def text_of(data: bytes, charset: str = "", *, markup: bool = False) -> str:
    """Return the text of bytes. The charset is that of their byte order mark, else the given one, else the one that
    `markup` declares, else the likeliest.

    Invalid bytes become U+FFFD.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    found = _codec(charset)
    if found is None and markup and (match := _META.search(data[:4096]) or _XML.search(data[:512])):
        found = _codec(match[1].decode("ascii"))
        found = "utf-8" if found is not None and found.startswith(("utf-16", "utf-32")) else found
    return data.decode(found, "replace") if found is not None else _guessed(data)


def _codec(name: str) -> str | None:
    """Return Python's codec for a charset, None if it has none that a page may use."""
    try:
        found = codecs.lookup(name.strip().strip("\"'")).name if name.strip().isascii() else ""
    except (LookupError, ValueError):
        return None
    return _BECOMES.get(found, found) if _OF_PAGES.fullmatch(found) else None


def _guessed(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > LOOKED_AT:  # up to there it was UTF-8
            return data.decode("utf-8", "replace")
    from charset_normalizer import from_bytes  # loaded for the rare page that is not UTF-8 and declares no charset

    head = data[:LOOKED_AT]
    best = from_bytes(head, cp_isolation=["cp1252"]).best() or from_bytes(head).best()
    return data.decode(best.encoding if best is not None else "utf-8", "replace")
