"""Files that contain other files: zip archives and e-mail."""

from __future__ import annotations

from collections.abc import Mapping
from email import message_from_bytes, policy
from email.errors import MessageDefect
from email.message import EmailMessage
from typing import Any

import msgspec

from .archive import Archive
from .document import ENCRYPTED, Unreadable
from .markup import html, markdown_of, table
from .selecting import Texts, sections

MOST_LISTED = 1_000
"""Maximum number of entries of an archive that are listed."""

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


class Holder(msgspec.Struct, frozen=True):
    """An opened container: `texts` describes its contents, and `read` returns an entry by its name."""

    texts: Texts
    names: frozenset[str] = frozenset()
    archive: Archive | None = None
    attached: Mapping[str, bytes] = {}

    def read(self, name: str) -> bytes:
        """Return the bytes of an entry. Raises `Unreadable`."""
        return self.archive.read(name) if self.archive is not None else self.attached[name]


def packed(archive: Archive) -> Holder:
    """Return a zip archive as the list of its entries."""
    entries = [each for each in archive.entries if not each.is_dir()]
    rows = [(each.filename, f"{each.file_size:,}", "{}-{:02}-{:02}".format(*each.date_time)) for each in entries]
    listed = table([("name", "bytes", "changed"), *rows[:MOST_LISTED]]) if rows else "[it is empty]"
    notes = [f"an entry is read with pages='{entries[0].filename}'"] if entries else []
    if len(rows) > MOST_LISTED:
        notes.insert(0, f"{len(rows):,} entries, of which {MOST_LISTED:,} are listed")
    if any(each.flag_bits & 1 for each in entries):
        notes.append("entries are encrypted: they cannot be read")
    texts = Texts("zip archive", "list", (("", listed),), notes=tuple(notes))
    return Holder(texts, frozenset(each.filename for each in entries), archive)


def mail(data: bytes) -> Holder:
    """Return a message (RFC 5322, MIME): its headers, its text and a list of its attachments. Raises `Unreadable`."""
    found = message_from_bytes(data, policy=policy.default)
    if not isinstance(found, EmailMessage) or not any(found.keys()):
        raise Unreadable("is not an e-mail: it has no headers")
    if found.get_content_type() in ("application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/encrypted"):
        raise Unreadable(f"{ENCRYPTED.partition(':')[0]}: have it saved by the program that can read it")
    heads = "\n".join(f"{name}: {_header(found, name)}" for name in _HEADERS if found.get(name))
    attached = dict(_attached(found))
    listed = [(name, f"{len(content):,}") for name, content in attached.items()]
    blocks = [heads, _body(found)]
    if listed:
        blocks.append(f"Attachments:\n\n{table([('name', 'bytes'), *listed])}")
    notes = [f"an attachment is read with pages='{listed[0][0]}'"] if listed else []
    if any(_is_cut(defect) for part in found.walk() for defect in part.defects):
        notes.append("the message is cut off")
    parts = sections("\n\n".join(blocks))
    return Holder(Texts("e-mail", "part", parts, _header(found, "Subject"), tuple(notes)), frozenset(attached),
                  attached=attached)  # fmt: skip


def _header(found: EmailMessage, name: str) -> str:
    return " ".join(str(found.get(name, "")).split())


def _body(found: EmailMessage) -> str:
    body = found.get_body(preferencelist=("plain", "html"))
    if body is None:
        return ""
    try:
        text = str(body.get_content())
    except (LookupError, ValueError, KeyError):
        text = (body.get_payload(decode=True) or b"").decode("utf-8", "replace")  # type: ignore[union-attr]
    return markdown_of(html(text)) if body.get_content_type() == "text/html" else text


def _attached(found: EmailMessage) -> list[tuple[str, bytes]]:
    entries: list[tuple[str, bytes]] = []
    for number, part in enumerate(found.iter_attachments(), 1):
        name = part.get_filename() or f"attachment-{number}.{'eml' if part.is_multipart() else 'txt'}"
        content = part.get_payload(decode=True)
        if not isinstance(content, bytes):
            inner: Any = part.get_payload()
            content = inner[0].as_bytes() if isinstance(inner, list) and inner else b""
        entries.append((name, content))
    return entries


def _is_cut(defect: MessageDefect) -> bool:
    return type(defect).__name__ in ("CloseBoundaryNotFoundDefect", "StartBoundaryNotFoundDefect")
