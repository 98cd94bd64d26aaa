"""The kind of a document: by its first bytes if they tell it, else by its name or media type. Pure."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from .document import DAMAGED, ENCRYPTED

Kind: TypeAlias = Literal[
    "pdf", "docx", "pptx", "workbook", "odt", "odp", "epub", "html", "csv", "notebook", "latex", "mail", "zip", "image",
    "media", "text", "office",
]  # fmt: skip
"""A kind: "media" is audio or video, "text" any other text, "office" a file of Office 97 or an encrypted one."""

_BY_SUFFIX: dict[str, Kind] = {
    ".pdf": "pdf",
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), "docx"),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".potx"), "pptx"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xltx", ".xls", ".ods"), "workbook"),
    **dict.fromkeys((".odt", ".ott"), "odt"),
    **dict.fromkeys((".odp", ".otp"), "odp"),
    ".epub": "epub",
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    ".ipynb": "notebook",
    **dict.fromkeys((".tex", ".latex"), "latex"),
    ".eml": "mail",
    ".zip": "zip",
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"), "image"),
    **dict.fromkeys((".doc", ".ppt", ".msg"), "office"),
    **dict.fromkeys((".mp3", ".wav", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".aac", ".aif", ".aiff"), "media"),
    **dict.fromkeys((".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".mpg", ".mpeg", ".flv", ".3gp"), "media"),
    **dict.fromkeys((".wma", ".wmv"), "media"),
}  # fmt: skip

_BY_MEDIA_TYPE: dict[str, Kind] = {
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "workbook",
    "application/vnd.ms-excel": "workbook",
    "application/vnd.ms-excel.sheet.macroenabled.12": "workbook",
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": "workbook",
    "application/vnd.oasis.opendocument.spreadsheet": "workbook",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/epub+zip": "epub",
    "application/zip": "zip",
    "application/x-zip-compressed": "zip",
    "application/msword": "office",
    "application/vnd.ms-powerpoint": "office",
}

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of a compound file (MS-CFB 2.2): a file of Office 97, or an encrypted one of a later Office."""

BINARY: frozenset[Kind] = frozenset({"pdf", "docx", "pptx", "workbook", "odt", "odp", "epub", "zip", "office", "media"})
"""The kinds that are neither text nor an image for a model."""

_FORMATS = (
    (0, b"ID3", "mp3"), (0, b"OggS", "ogg"), (0, b"fLaC", "flac"), (0, b"\x1aE\xdf\xa3", "matroska"),
    (8, b"WAVE", "wav"), (8, b"AVI ", "avi"), (8, b"AIFF", "aiff"), (8, b"AIFC", "aiff"), (4, b"ftyp", "mov"),
    (4, b"moov", "mov"), (4, b"mdat", "mov"), (4, b"wide", "mov"), (0, b"FLV\x01", "flv"),
    (0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "asf"), (0, b"\x00\x00\x01\xba", "mpeg"),
)  # fmt: skip
"""Formats of audio and video: the offset of the magic bytes, these bytes, and FFmpeg's name of the format."""

_STILL = (b"heic", b"heix", b"mif1", b"msf1", b"avif", b"avis")
"""Brands of images in the container of MP4 (ISO/IEC 23008-12)."""

_SEEN = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_MIMETYPE = b"mimetype"
_MIMETYPES: tuple[tuple[bytes, Kind], ...] = (
    (b"epub+zip", "epub"), (b".spreadsheet", "workbook"), (b".presentation", "odp"), (b".opendocument.text", "odt"),
)  # fmt: skip
_MEMBERS: tuple[tuple[str, Kind], ...] = (
    ("word/document.xml", "docx"), ("ppt/presentation.xml", "pptx"), ("xl/workbook.xml", "workbook"),
    ("xl/workbook.bin", "workbook"), ("META-INF/container.xml", "epub"),
)  # fmt: skip


def suffix_of(name: str) -> str:
    """Return the suffix of a path, in lower case."""
    return PurePosixPath(name).suffix.lower()


def kind_of(name: str, data: bytes, media_type: str = "") -> Kind:
    """Return the kind of a document, "text" if nothing else is known."""
    named = _BY_SUFFIX.get(suffix_of(name)) or _BY_MEDIA_TYPE.get(media_type)
    if b"%PDF-" in data[:1024] and named not in ("html", "csv", "latex", "mail"):
        return "pdf"
    if data.startswith(OLE):
        return _in_ole(data, named)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return named if named in BINARY - {"zip", "pdf", "office"} else _in_zip(data)
    if image_type(data) is not None:
        return "image"
    if format_of(name, data) is not None:
        return "media"
    return named or "text"


def is_document(name: str, data: bytes = b"", media_type: str = "") -> bool:
    """Return whether a file is of a `BINARY` kind, which a text editor cannot show. Without `data` its name decides."""
    return kind_of(name, data, media_type) in BINARY


def wanted_type(media_type: str) -> bool:
    """Return whether a media type (lower case, no parameters) is that of a document that a text editor cannot show."""
    return media_type in _BY_MEDIA_TYPE


def image_type(data: bytes) -> str | None:
    """Return the media type of an image that models can see, None for other data."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _SEEN if data.startswith(mark)), None)


def format_of(name: str, data: bytes) -> str | None:
    """Return FFmpeg's name of an audio or video format, None if the file is neither."""
    for place, mark, found in _FORMATS:
        if data[place : place + len(mark)] == mark:
            return None if found == "mov" and data[8:12] in _STILL else found
    if data[:1] == b"\xff" and data[1:2] >= b"\xe0":  # a bare frame has only a sync word
        return {".mp3": "mp3", ".mpga": "mp3", ".aac": "aac"}.get(suffix_of(name))
    return None


def _in_zip(data: bytes) -> Kind:
    """Return a zip's kind by its first entry (OpenDocument 1.3, part 2, 3.3; OCF 3.3, 4.3.3), else by its names."""
    if data[30:38] == _MIMETYPE:
        for mark, kind in _MIMETYPES:
            if mark in data[38:128]:
                return kind
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return "zip"
    for name, kind in _MEMBERS:
        if name in names:
            return kind
    return "zip"


def _in_ole(data: bytes, named: Kind | None) -> Kind:
    if _stream("EncryptedPackage") in data or _stream("WordDocument") in data:
        return "office"
    is_workbook = named == "workbook" or _stream("Workbook") in data or _stream("Book") in data
    return "workbook" if is_workbook else "office"


def _stream(name: str) -> bytes:
    """Return the name of a stream as in its directory entry (MS-CFB 2.6.1): UTF-16 with a NUL at the end."""
    return name.encode("utf-16-le") + b"\0\0"


def refusal(data: bytes) -> str:
    """Return why a file of the kind "office" cannot be read."""
    if _stream("EncryptedPackage") in data or _stream("EncryptionInfo") in data:
        return ENCRYPTED
    if _stream("__nameid_version1.0") in data:
        return "is a message of Outlook: save it as .eml and read that"
    if _stream("WordDocument") in data or _stream("PowerPoint Document") in data:
        return "is a file of Office 97: convert it (soffice --headless --convert-to docx or pptx) and read that"
    return DAMAGED
