"""`ask`: sends a web request to allowed addresses; its answer is bounded. Heavy, so imported when it is needed."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from email.message import Message

import anyio
import httpx2

from ..errors import ToolError
from .addresses import Guard
from .exchange import Answer, Bounds, Question
from .pinning import send, transport
from .unpacking import ACCEPTED, Unpacking

AGENT = "Mozilla/5.0 (compatible; agentrt)"

LONGEST_CONNECT = 10.0
"""Time limit in seconds to connect to one address of a host, which may have more."""

_HARMLESS = frozenset({"Accept", "Accept-Language", "Content-Type"})
"""Headers that are still sent after a redirect to another origin."""


async def ask(question: Question, guard: Guard, bounds: Bounds = Bounds()) -> Answer:
    """Return the answer, whatever its status. Each redirect is checked like the first address.

    Raises `ToolError`, which says what to do, if an address is refused or unknown, if the server does not answer in
    time, or if the answer is too long.
    """
    read = _Read(bounds.most_bytes)
    with anyio.move_on_after(bounds.seconds) as limit:
        try:
            return await _asked(question, guard, bounds, read)
        except httpx2.HTTPError as error:
            raise ToolError(_failure(_shown(question.url), error)) from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise ToolError(f"this is not a web address that can be asked: {error}") from error
    assert limit.cancelled_caught
    came = f"only {read.packed:,} bytes of the answer came" if read.packed else "no answer came"
    raise ToolError(
        f"{_shown(question.url)} took longer than {bounds.seconds:g} s: {came}. Try again later, or elsewhere"
    )


async def _asked(question: Question, guard: Guard, bounds: Bounds, read: _Read) -> Answer:
    timeout = httpx2.Timeout(bounds.seconds, connect=min(LONGEST_CONNECT, bounds.seconds))
    async with httpx2.AsyncClient(transport=_Guarded(guard), trust_env=False, timeout=timeout) as client:
        request = client.build_request(
            question.method,
            _without_user(httpx2.URL(question.url)),
            headers={"User-Agent": AGENT, "Accept-Encoding": ACCEPTED, **_authorization(question), **question.headers},
            content=question.body or None,
        )
        for _ in range(bounds.redirects + 1):
            _check_scheme(request.url)
            async with _opened(client, request) as response:
                if not response.has_redirect_location:
                    return await _answer(response, bounds, read)
                if response.next_request is None:
                    raise ToolError(f"{_shown(question.url)} redirects to no web address: ask another one")
                request = response.next_request  # the body of a redirect is not read: it may be endless
                if _origin(request.url) != _origin(response.url):
                    for name in question.headers.keys() - _HARMLESS:
                        request.headers.pop(name, None)
    raise ToolError(
        f"{_shown(question.url)} leads on more than {bounds.redirects} times: ask the address that is meant"
    )


class _Guarded(httpx2.AsyncBaseTransport):
    """Sends each request over a new connection, because two hosts at one address have different certificates."""

    def __init__(self, guard: Guard) -> None:
        self._guard, self._used = guard, list[httpx2.AsyncHTTPTransport]()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        inner = transport(request.url)
        self._used.append(inner)
        return await send(inner, request, self._guard)

    async def aclose(self) -> None:
        for inner in self._used:
            await inner.aclose()


@asynccontextmanager
async def _opened(client: httpx2.AsyncClient, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        yield response
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(2):
            await response.aclose()


class _Read:
    """The body so far. `most` limits both its packed and its unpacked bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.packed, self.data = most, 0, bytearray()

    def add(self, pieces: Iterator[bytes]) -> bool:
        """Add unpacked pieces, and return whether they are within the limit."""
        for piece in pieces:
            self.data += piece
            if len(self.data) > self.most:
                return False
        return True


async def _answer(response: httpx2.Response, bounds: Bounds, read: _Read) -> Answer:
    url, length = str(response.url), response.headers.get("content-length", "")
    media_type, charset = _kind(response.headers.get("content-type", ""))
    size = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None
    wanted = bounds.wanted(media_type) or response.status_code >= 400
    if wanted:
        if size is not None and size > bounds.most_bytes and response.status_code < 400:
            raise ToolError(_too_long(url, f"{size:,} bytes", bounds))
        await _take(response, url, bounds, read)
        size = len(read.data)
    return Answer(
        url=url,
        status=response.status_code,
        media_type=media_type,
        charset=charset,
        body=bytes(read.data),
        size=size,
        retry_after=response.headers.get("retry-after", ""),
    )


async def _take(response: httpx2.Response, url: str, bounds: Bounds, read: _Read) -> None:
    """Read the body. That of an error is cut at the limit."""
    try:
        unpacking = Unpacking(response.headers.get("content-encoding", ""))
        async for piece in response.aiter_raw():
            read.packed += len(piece)
            if read.packed <= bounds.most_bytes and read.add(unpacking.feed(piece)):
                continue
            if response.status_code >= 400:
                return
            raise ToolError(_too_long(url, "more", bounds))
    except ValueError as error:
        raise ToolError(f"{url} cannot be read: {error}. Try the terminal, or another address") from error


def _too_long(url: str, what: str, bounds: Bounds) -> str:
    return (
        f"{url} has {what}, and at most {bounds.most_bytes:,} bytes are read: download it in the terminal, and look at"
        " the part that matters"
    )


def _kind(given: str) -> tuple[str, str]:
    """Return a media type and its charset (RFC 9110, 8.3)."""
    if not given:
        return "", ""
    header = Message()
    header["content-type"] = given
    charset = header.get_param("charset")
    return given.partition(";")[0].strip().lower(), charset if isinstance(charset, str) else ""


def _check_scheme(url: httpx2.URL) -> None:
    if url.scheme not in ("http", "https") or not url.host:
        raise ToolError(f"{str(url)!r} is not a web address: give one with http:// or https:// and a host")


def _without_user(url: httpx2.URL) -> httpx2.URL:
    """Return a URL without user and password: these are sent as a header, so no log contains them."""
    return url.copy_with(userinfo=b"") if url.userinfo else url


def _shown(url: str) -> str:
    """Return a URL without user and password."""
    return str(_without_user(httpx2.URL(url)))


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _authorization(question: Question) -> dict[str, str]:
    url = httpx2.URL(question.url)
    if not url.userinfo:
        return {}
    request = httpx2.Request("GET", url)
    return {
        "Authorization": next(httpx2.BasicAuth(url.username, url.password).auth_flow(request)).headers["Authorization"]
    }


def _failure(url: str, error: httpx2.HTTPError) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            why = getattr(cause, "verify_message", "") or cause.reason or str(cause)
            return f"{url} has no valid TLS certificate, or speaks no TLS: {why}. Check the address; it was not asked"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return f"{url} does not answer: {error}. Check the address and the port, or try again later"
    return f"{url} has broken off: {type(error).__name__} {error}. Try again, or another address"
