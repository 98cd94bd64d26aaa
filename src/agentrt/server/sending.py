"""Responses with the bytes of files: whole, or a range of them; as nothing that a browser would run."""

from __future__ import annotations

import mimetypes
import os
import re
from collections.abc import Iterator
from email.utils import formatdate
from io import FileIO
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ..workspaces.beneath import printable
from .problems import refusal

PIECE = 256 * 1024
"""Bytes that are read and sent at once."""

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class FileBody(StreamingResponse):
    """Sends what is left of a file, which it closes, whatever becomes of the client."""

    def __init__(self, file: FileIO, length: int, status_code: int, headers: dict[str, str]) -> None:
        self._file = file
        super().__init__(_pieces(file, length), status_code, {**headers, "Content-Length": str(length)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


def serve_file(file: FileIO, name: str, wanted: str | None, condition: str | None, known: str | None) -> Response:
    """A file as a response: the range that is `wanted` (a Range header) under a `condition` (If-Range), or all of it.

    A client that names the tag that it has as `known` (If-None-Match) is told that it is the same. For a thread; it
    closes the file in the end. Raises `Refusal` (416) for a range that is not there.
    """
    found = os.fstat(file.fileno())
    tag = f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {
        **shown_as(name, f"{kind}; charset=utf-8" if kind.startswith("text/") else kind),
        "ETag": tag,
        "Last-Modified": formatdate(max(found.st_mtime, 0), usegmt=True),
        "Accept-Ranges": "bytes",
    }
    if known is not None and (known.strip() == "*" or tag in (part.strip() for part in known.split(","))):
        file.close()
        return Response(status_code=304, headers=headers)
    here = _range(wanted, found.st_size) if wanted is not None and condition in (None, tag) else None
    if here is None:
        return FileBody(file, found.st_size, 200, headers)
    first, last = here
    if first > last:
        file.close()
        where = f"bytes */{found.st_size}"
        raise refusal(416, "No such range", f"the file has {found.st_size} bytes", "range", Content_Range=where)
    file.seek(first)
    return FileBody(file, last - first + 1, 206, headers | {"Content-Range": f"bytes {first}-{last}/{found.st_size}"})


def shown_as(name: str, media_type: str) -> dict[str, str]:
    """Headers of content that nobody vouches for: it is saved, and where it is shown all the same it runs nothing."""
    plain = re.sub(r"[^\w.\- ]", "_", name, flags=re.ASCII)
    return {
        "Content-Type": media_type,
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(printable(name), safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
    }


def _range(header: str, size: int) -> tuple[int, int] | None:
    """The first and the last byte that a Range header names (RFC 9110, 14.1.2); None for what is answered with all."""
    if (match := _RANGE.fullmatch(header.strip())) is None or not any(match.groups()):
        return None  # other units, or several ranges: the whole file is a right answer to them
    begin, end = match.groups()
    if not begin:
        return (max(size - int(end), 0), size - 1) if int(end) else (0, -1)
    first, last = int(begin), min(int(end), size - 1) if end else size - 1
    if end and int(end) < first:
        return None
    return (first, last) if first < size else (0, -1)


def _pieces(file: FileIO, length: int) -> Iterator[bytes]:
    """So many bytes of a file; one that has become shorter is cut, which the length that was announced tells."""
    while length > 0 and (piece := file.read(min(PIECE, length))):
        length -= len(piece)
        yield piece
