"""The web console's files, as they were built; they are read once, and served from memory."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from pathlib import Path

import msgspec
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
"""The content security policy (CSP Level 3): only scripts and styles that are files of ours, and no HTML from text."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_MISSING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>agentrt</title></head><body>
<h1>The server runs, and its console was not built</h1>
<p>A wheel has it. In a checkout it is built with Node 20 or later:</p>
<pre>npm --prefix src/agentrt/server/web ci
npm --prefix src/agentrt/server/web run build</pre>
<p>Then start the server again. REST works without it: see <a href="/openapi.json">/openapi.json</a>.</p>
</body></html>
"""


class _Asset(msgspec.Struct, frozen=True):
    """A file as it is sent; `zipped` is its gzip (RFC 1952) where that is shorter."""

    body: bytes
    zipped: bytes | None
    etag: str
    media_type: str
    cache: str


def routes(directory: Path = BUILT) -> list[BaseRoute]:
    """The console at "/", with the files that it loads; a page that says how to build it where it was not."""
    if not (directory / "index.html").is_file():
        return [Route("/", _not_built, methods=["GET"], include_in_schema=False)]
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    assets = {f"/{path.relative_to(directory).as_posix()}": _read(path) for path in files}
    assets["/"] = assets.pop("/index.html")

    async def serve(request: Request) -> Response:
        return _sent(assets[request.url.path], request)

    return [Route(path, serve, methods=["GET"], include_in_schema=False) for path in assets]


async def _not_built(request: Request) -> Response:
    return HTMLResponse(_MISSING, status_code=503, headers=HEADERS | {"Cache-Control": "no-store"})


def _read(path: Path) -> _Asset:
    body = path.read_bytes()
    zipped = gzip.compress(body, mtime=0)
    return _Asset(
        body=body,
        zipped=zipped if len(zipped) < len(body) else None,
        etag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        media_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        # those in assets/ have a hash of their content in their names
        cache="public, max-age=31536000, immutable" if path.parent.name == "assets" else "no-cache",
    )


def _sent(asset: _Asset, request: Request) -> Response:
    headers = HEADERS | {"Cache-Control": asset.cache, "ETag": asset.etag, "Vary": "Accept-Encoding"}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if asset.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    if asset.zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.zipped, headers=headers | {"Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.body, headers=headers, media_type=asset.media_type)
