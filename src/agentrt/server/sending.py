"""Responses with the bytes of a file or of a range of it, with headers that keep a browser from running it."""

from __future__ import annotations

import mimetypes
import os
import re
from email.utils import formatdate
from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio.to_thread
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ..sandboxes.entries import printable
from ..workspaces.streaming import close, pieces
from .problems import refusal

if TYPE_CHECKING:
    from aiofiles.threadpool.binary import AsyncBufferedReader

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class FileBody(StreamingResponse):
    """A response with `length` bytes of a file, or all (None). It closes the file, even if the client disconnects."""

    def __init__(
        self, file: AsyncBufferedReader, length: int | None, status_code: int, headers: dict[str, str]
    ) -> None:
        self._file, self._pieces = file, pieces(file, length)
        told = {} if length is None else {"Content-Length": str(length)}
        super().__init__(self._pieces, status_code, headers | told)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "HEAD":  # the file is not read
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await super().__call__(scope, receive, send)
        finally:
            await self._pieces.aclose()
            await close(self._file)


async def serve_file(
    file: AsyncBufferedReader, name: str, wanted: str | None, condition: str | None, known: str | None
) -> Response:
    """Return a file as a response: the range that is `wanted` (a Range header) under a `condition` (If-Range), or all.

    If the file's tag is among the `known` ones (If-None-Match), the status is 304. The file is closed at the end, or on
    an error. Raises `Refusal` (416) for a range outside the file.
    """
    try:
        answer = await _answer(file, name, wanted, condition, known)
    except BaseException:
        await close(file)
        raise
    if not isinstance(answer, FileBody):
        await close(file)
    return answer


async def _answer(
    file: AsyncBufferedReader, name: str, wanted: str | None, condition: str | None, known: str | None
) -> Response:
    found = await anyio.to_thread.run_sync(os.fstat, file.fileno())
    tag = f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {
        **shown_as(name, f"{kind}; charset=utf-8" if kind.startswith("text/") else kind),
        "ETag": tag,
        "Last-Modified": formatdate(max(found.st_mtime, 0), usegmt=True),
        "Accept-Ranges": "bytes",
    }
    tags = [part.strip().removeprefix("W/") for part in (known or "").split(",")]
    if tag in tags or "*" in tags:
        return Response(status_code=304, headers=headers)
    unchanged = condition in (None, tag, headers["Last-Modified"])
    here = _range(wanted, found.st_size) if wanted is not None and unchanged else None
    if here is None:
        return FileBody(file, found.st_size, 200, headers)
    first, last = here
    if first > last:
        where = f"bytes */{found.st_size}"
        raise refusal(416, "No such range", f"the file has {found.st_size} bytes", "range", Content_Range=where)
    await file.seek(first)
    return FileBody(file, last - first + 1, 206, headers | {"Content-Range": f"bytes {first}-{last}/{found.st_size}"})


def shown_as(name: str, media_type: str) -> dict[str, str]:
    """Return headers for untrusted content: a browser saves it, or runs nothing of it if it shows it all the same."""
    plain = re.sub(r"[^\w.\- ]", "_", name, flags=re.ASCII)
    return {
        "Content-Type": media_type,
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(printable(name), safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
    }


def _range(header: str, size: int) -> tuple[int, int] | None:
    """Return the first and the last byte of a Range header (RFC 9110, 14.1.2); None if the whole file is the answer."""
    if (match := _RANGE.fullmatch(header.strip())) is None or not any(match.groups()):
        return None  # other units, or several ranges: these may be answered with the whole file
    begin, end = match.groups()
    if not begin:
        return (max(size - int(end), 0), size - 1) if int(end) else (0, -1)
    first, last = int(begin), min(int(end), size - 1) if end else size - 1
    if end and int(end) < first:
        return None
    return (first, last) if first < size else (0, -1)
