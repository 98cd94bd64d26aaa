"""The built files of the web console and of the page at /docs, read once and served from memory."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

BUILT = Path(__file__).parent / "web" / "dist"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify",
    )
)
"""The content security policy (CSP Level 3): scripts and styles only from our files, and no HTML made from text."""

DOCS_POLICY = "; ".join(part for part in POLICY.split("; ") if "trusted-types" not in part)
"""The policy of /docs, whose library makes HTML from text, cleaned by DOMPurify."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_DOCS = {"Content-Security-Policy": DOCS_POLICY}

_MISSING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>agentrt</title></head><body>
<h1>The server runs, but its pages are missing</h1>
<p>They are part of agentrt: install it again. In a checkout they can be built with Node 20.19 or later:</p>
<pre>npm --prefix src/agentrt/server/web ci
npm --prefix src/agentrt/server/web run build</pre>
<p>Then start the server again. REST works without them: see <a href="openapi.json">openapi.json</a>.</p>
</body></html>
"""


class _Asset:
    """A file, ready to be sent."""

    __slots__ = ("_zipped", "body", "etag", "headers", "media_type")

    def __init__(self, path: Path, headers: dict[str, str]) -> None:
        self.body = path.read_bytes()
        self.etag = f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'
        self.media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        # names in assets/ contain a hash of the content
        cache = "public, max-age=31536000, immutable" if path.parent.name == "assets" else "no-cache"
        self.headers = headers | {"Cache-Control": cache, "ETag": self.etag, "Vary": "Accept-Encoding"}
        self._zipped: bytes | None = None

    async def zipped(self) -> bytes:
        """Return its gzip (RFC 1952), made at the first request, because it takes a while for a large file."""
        if self._zipped is None:
            self._zipped = await anyio.to_thread.run_sync(partial(gzip.compress, self.body, mtime=0))
        return self._zipped


def routes(directory: Path = BUILT) -> list[BaseRoute]:
    """Return the routes of the console at "/", of "/docs" and of their files. If they were not built, a page says how
    to build them.
    """
    found: dict[str, Callable[[Request], Awaitable[Response]]] = {"/": _not_built, "/docs": _not_built}
    pages = {"/index.html": "/", "/docs/index.html": "/docs"}
    if are_built(directory):
        for file in sorted(path for path in directory.rglob("*") if path.is_file()):
            path = f"/{file.relative_to(directory).as_posix()}"
            found[pages.get(path, path)] = _serving(file, HEADERS | _DOCS if path.startswith("/docs/") else HEADERS)
    return [Route(path, serve, methods=["GET"], include_in_schema=False) for path, serve in found.items()]


def are_built(directory: Path = BUILT) -> bool:
    """Return whether the pages are there."""
    return (directory / "index.html").is_file()


def _serving(file: Path, headers: dict[str, str]) -> Callable[[Request], Awaitable[Response]]:
    asset = _Asset(file, headers)

    async def serve(request: Request) -> Response:
        return await _sent(asset, request)

    return serve


async def _not_built(request: Request) -> Response:
    return HTMLResponse(_MISSING, status_code=503, headers=HEADERS | {"Cache-Control": "no-store"})


async def _sent(asset: _Asset, request: Request) -> Response:
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if asset.etag in known or "*" in known:
        return Response(status_code=304, headers=asset.headers)
    if "gzip" in request.headers.get("accept-encoding", "") and len(zipped := await asset.zipped()) < len(asset.body):
        return Response(zipped, headers=asset.headers | {"Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.body, headers=asset.headers, media_type=asset.media_type)
