"""Fetches the values of secrets from a URL, or from a function of the program."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread

from ..cancelling import guarded
from ..errors import ToolError
from .sources import CallableSecret, LookupSecret

if TYPE_CHECKING:
    from aiohttp import ClientSession

TIMEOUT = 30.0
"""Maximum number of seconds for a lookup."""

MAX_SIZE = 64 * 1024
"""Maximum number of bytes of an answer."""

MAX_REDIRECTS = 5

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


async def fetch(source: LookupSecret | CallableSecret) -> object:
    """Return the current value of a source. Raises `ToolError` with the reason, without any header or query."""
    with anyio.move_on_after(TIMEOUT):
        return await (_answer(source) if isinstance(source, LookupSecret) else _result(source))
    where = shown(source.url) if isinstance(source, LookupSecret) else "its function"
    raise ToolError(f"{where} took more than {TIMEOUT:.0f} s")


def shown(url: str) -> str:
    """Return a URL without its query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


async def _result(source: CallableSecret) -> object:
    try:
        with guarded:
            if inspect.iscoroutinefunction(source.function):
                return await source.function()
            result = await anyio.to_thread.run_sync(source.function, abandon_on_cancel=True)
            return await result if inspect.isawaitable(result) else result
    except Exception as failure:  # from the program's code: its text may contain a secret not known yet
        raise ToolError(f"its function failed with {type(failure).__name__}") from failure


async def _answer(source: LookupSecret) -> str:
    import aiohttp  # heavy

    where = shown(source.url)
    try:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            body = await _get(session, source.url, source.headers)
    except aiohttp.ClientConnectorError:
        raise ToolError(f"{where} cannot be reached") from None
    except (aiohttp.ClientError, OSError, ValueError) as failure:
        raise ToolError(f"{where} failed with {type(failure).__name__}") from None
    try:
        return body.decode().strip("\r\n")
    except UnicodeDecodeError:
        raise ToolError(f"{where} answered with bytes that are not UTF-8 text") from None


async def _get(session: ClientSession, url: str, headers: Mapping[str, str]) -> bytes:
    """Return the body. Redirects are followed only to the same origin, because the headers are sent along."""
    first = url
    for _ in range(MAX_REDIRECTS + 1):
        async with session.get(url, headers=headers, allow_redirects=False) as response:
            if response.status in _REDIRECTS and "Location" in response.headers:
                url = urljoin(url, response.headers["Location"])
                if _origin(url) != _origin(first):
                    raise ToolError(f"{shown(first)} redirects to another host: give the URL that it leads to")
                continue
            if not 200 <= response.status < 300:
                raise ToolError(f"{shown(first)} answered with status {response.status}")
            body = bytearray()
            async for piece in response.content.iter_chunked(8192):
                body += piece
                if len(body) > MAX_SIZE:
                    raise ToolError(f"{shown(first)} answered more than {MAX_SIZE} bytes")
            return bytes(body)
    raise ToolError(f"{shown(first)} redirects more than {MAX_REDIRECTS} times")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
