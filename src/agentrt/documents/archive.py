"""`Archive`: a zip file that is checked before it is unpacked."""

from __future__ import annotations

import re
import zipfile
import zlib
from io import BytesIO

from .document import DAMAGED, ENCRYPTED, Unreadable

MIB = 1 << 20
MOST_UNPACKED = 200 * MIB
"""Maximum total of the unpacked bytes of an archive."""

MOST_STREAMED = 2048 * MIB
"""The same for a workbook, whose entries are read as a stream."""

MOST_RATIO = 250
"""Maximum ratio of unpacked to packed bytes if an archive unpacks to more than 20 MiB. Deflate can reach 1,032."""

MOST_ENTRIES = 50_000

_PROLOG = re.compile(r"<[A-Za-z_]|<!DOCTYPE", re.ASCII)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_XML = (".xml", ".rels", ".vml", ".opf", ".ncx", ".xhtml", ".html", ".htm", ".svg")
_LOOKED_AT = 64 << 10


class Archive:
    """The entries of a zip file. Raises `Unreadable` if it is damaged, has too many entries, or unpacks to more than
    `most` bytes or to too many times its size.
    """

    def __init__(self, data: bytes, most: int = MOST_UNPACKED) -> None:
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
            self.entries = self._zip.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
            raise Unreadable(DAMAGED) from error
        if len(self.entries) > MOST_ENTRIES:
            raise Unreadable(f"has {len(self.entries):,} entries, and {MOST_ENTRIES:,} are the most: refused")
        total = sum(entry.file_size for entry in self.entries)
        if total > most:
            raise Unreadable(f"unpacks to more than {most // MIB:,} MiB: refused")
        if total > 20 * MIB and total > MOST_RATIO * len(data):
            raise Unreadable(f"unpacks to more than {MOST_RATIO} times its size, as a bomb does: refused")

    @property
    def names(self) -> list[str]:
        return [entry.filename for entry in self.entries]

    def has(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def read(self, name: str) -> bytes:
        """Return the bytes of an entry, never more than its header says. Raises `Unreadable`."""
        try:
            entry = self._zip.getinfo(name)
        except KeyError as error:
            raise Unreadable(f"is damaged: it has no {name}") from error
        if entry.flag_bits & 1:
            raise Unreadable(ENCRYPTED)
        try:
            with self._zip.open(entry) as file:
                return file.read(entry.file_size + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
            raise Unreadable(f"{DAMAGED} ({name})") from error

    def check_xml(self) -> None:
        """Raise `Unreadable` if an entry is encrypted, or is XML that declares entities, which may grow without bound
        or name files.
        """
        for entry in self.entries:
            if entry.flag_bits & 1:
                raise Unreadable(ENCRYPTED)
            if entry.filename.lower().endswith(_XML):
                try:
                    with self._zip.open(entry) as file:
                        head = file.read(_LOOKED_AT)
                except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
                    raise Unreadable(f"{DAMAGED} ({entry.filename})") from error
                check_prolog(head)


def check_prolog(head: bytes) -> None:
    """Raise `Unreadable` if XML has a document type with declarations of its own (XML 1.0, 2.8), or no root element in
    its first 64 KiB.
    """
    wide = next((name for name in ("utf-16-le", "utf-16-be") if "<".encode(name) in head[:6]), "utf-8")
    text = _COMMENT.sub("", head.decode(wide, "replace"))
    found = _PROLOG.search(text)
    if found is None:
        if len(head) >= _LOOKED_AT:
            raise Unreadable("has XML that begins with no element: refused")
        return
    if found[0] == "<!DOCTYPE":
        declared = text[found.start() : text.find(">", found.start()) + 1 or None]
        if "[" in declared or "<!ENTITY" in text:
            raise Unreadable("has XML that declares entities, as an attack does: refused")
