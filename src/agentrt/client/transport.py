"""`Transport`: HTTP requests and WebSockets to one server; the only part of the client that uses aiohttp."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
import msgspec

from ..errors import AgentrtError, OutcomeUnknown, RequestRefused, ServerUnreachable
from ..frames import FromServer, Problem, ToServer
from ..specs import RemoteWorkspace
from ..workspaces.asking import Source
from .backoff import Backoff
from .problems import error_of, error_of_close, problem_in

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, ClientWebSocketResponse

MESSAGE = 64 * 1024 * 1024
"""Maximum number of bytes of a message of a socket."""

CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 1.0

UPLOADS = 5
"""Maximum number of times that an upload is started."""

_AGAIN = (429, 503)
"""Statuses of requests that were not carried out, and may be repeated."""
_BETWEEN = (502, 504)
"""Statuses of intermediaries that do not know whether the request was carried out."""

_BEGINS = re.compile(r"bytes (\d+)-")

_frames = msgspec.json.Decoder(list[FromServer])
_encoder = msgspec.json.Encoder()


def quoted(part: str) -> str:
    """Return a part of a URL as it is written there."""
    return quote(part, safe="")


def path_of(name: str) -> str:
    """Return the path of a conversation's resource."""
    return f"/conversations/{quoted(name)}"


class Cut(Exception):
    """Raised when a connection could not be made, or broke; `sent` says whether the server may have received the
    request.
    """

    def __init__(self, why: str, *, sent: bool) -> None:
        self.why, self.sent = why, sent
        super().__init__(why)


class Socket:
    """A WebSocket whose messages are arrays of frames."""

    def __init__(self, socket: ClientWebSocketResponse, place: RemoteWorkspace, name: str) -> None:
        self._socket, self._place, self._name = socket, place, name

    async def receive(self) -> Sequence[FromServer]:
        """Return the next message. Raises `Cut`, or the error for which the server closed the socket."""
        from aiohttp import WSMsgType

        try:
            message = await self._socket.receive(self._place.timeout)
        except TimeoutError:
            raise Cut(f"nothing came for {self._place.timeout:g} s", sent=True) from None
        if message.type is WSMsgType.TEXT or message.type is WSMsgType.BINARY:
            try:
                return _frames.decode(message.data)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise RequestRefused(200, "frames", f"what it sent is not understood: {error}") from error
        if message.type is WSMsgType.ERROR:
            raise Cut(f"the connection broke: {message.data}", sent=True)
        code, reason = self._socket.close_code or 1006, message.extra if isinstance(message.extra, str) else ""
        raise error_of_close(code, reason, self._place.url, self._name) or Cut(f"closed with {code}", sent=True)

    async def send(self, *frames: ToServer) -> None:
        """Send a message. Raises `Cut`."""
        try:
            await self._socket.send_str(_encoder.encode(frames).decode())
        except (OSError, RuntimeError) as error:
            raise Cut(f"the connection broke: {error}", sent=True) from error


class Download:
    """The body of an answer, in pieces; `tag` identifies the file's version, `begins` is its first byte's offset."""

    def __init__(self, answer: ClientResponse) -> None:
        self._answer = answer
        self.tag = answer.headers.get("ETag")
        self.begins = 0
        if answer.status == 206:
            given = _BEGINS.match(answer.headers.get("Content-Range", ""))
            self.begins = int(given[1]) if given else -1

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._answer.content.iter_any())


class _Sent:
    """A source sent over one connection; `patience` ends when no piece is accepted for `seconds`."""

    def __init__(self, source: Source, seconds: float, backoff: Backoff) -> None:
        self._source, self._seconds, self._backoff = source, seconds, backoff
        self.patience = anyio.CancelScope(deadline=anyio.current_time() + seconds)
        self.taken = 0
        """Number of pieces that were accepted."""
        self.failed: Exception | None = None
        """The exception of the source."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Return the pieces of the source, from its beginning."""
        try:
            async for piece in self._source():
                yield piece
                self.taken += 1
                self._backoff.well(progress=False)
                self.patience.deadline = anyio.current_time() + self._seconds
        except Exception as error:  # of whoever gives them: it goes to the caller as it is
            self.failed = error
            raise


class Transport:
    """Connections to one server with one key; an async context manager."""

    def __init__(self, place: RemoteWorkspace) -> None:
        self.place = place
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Transport:
        import aiohttp  # heavy

        key = self.place.api_key
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {key}"} if key is not None else {},
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            with anyio.CancelScope(shield=True):
                await self._session.close()

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        name: str,
        repeatable: bool = True,
        seconds: float | None = None,
        wait: float | None = None,
    ) -> bytes:
        """Return the body of the answer to a request about the conversation `name`.

        A request that was not received is repeated for `wait` seconds; one that may have been received is too, if it is
        `repeatable`. An answer may take `seconds`. Raises the server's errors, `ServerUnreachable`, or
        `OutcomeUnknown`.
        """
        backoff, patience = Backoff(), self.place.timeout if wait is None else wait
        anew = method == "GET"
        """Whether the request is repeated at least once: the connection may be an old one that no longer works."""
        while True:
            why = ""
            try:
                status, answer = await self._once(method, path, body, seconds or self.place.timeout)
                if status < 400:
                    return answer
                problem = problem_in(status, answer)
                why = problem.detail
                if not _may_repeat(problem, repeatable):
                    raise error_of(problem, self.place.url, name)
            except Cut as cut:
                why = cut.why
                if cut.sent and not repeatable:
                    raise OutcomeUnknown(path.rpartition("/")[2]) from cut
            if backoff.elapsed >= patience and not anew:
                raise ServerUnreachable(self.place.url, why)
            anew = False
            await anyio.sleep(backoff.next())

    async def _once(self, method: str, path: str, body: bytes | None, seconds: float) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        async with self._request(method, path, body, headers, seconds=seconds) as answer:
            return answer.status, await answer.read()

    async def upload(self, path: str, source: Source, *, name: str) -> bytes:
        """Return the answer to a PUT of a source's content, which is started again when it is cut.

        Raises the server's errors, the source's errors, or `ServerUnreachable`.
        """
        backoff, place, tries = Backoff(), self.place, 0
        while True:
            tries += 1
            sent = _Sent(source, place.timeout, backoff)
            try:
                status, answer = await self._put(path, sent)
                if status < 400:
                    return answer
                problem = problem_in(status, answer)
                why = problem.detail
                if not _may_repeat(problem, repeatable=True):
                    raise error_of(problem, place.url, name)
            except Cut as cut:
                if sent.failed is not None:
                    raise sent.failed from None
                why = cut.why
            if tries >= UPLOADS or (not sent.taken and backoff.elapsed >= place.timeout):
                raise ServerUnreachable(place.url, why)
            await anyio.sleep(backoff.next())

    async def _put(self, path: str, sent: _Sent) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/octet-stream"}
        with sent.patience:
            async with self._request("PUT", path, sent.pieces(), headers) as answer:
                return answer.status, await answer.read()
        raise Cut(f"nothing was taken for {self.place.timeout:g} s", sent=True)

    @asynccontextmanager
    async def download(
        self, path: str, *, name: str, after: int = 0, tag: str | None = None
    ) -> AsyncIterator[Download]:
        """Return the answer, from byte `after` on if it still has that tag. Raises `Cut`, or the server's error."""
        headers = {"Range": f"bytes={after}-", "If-Range": tag} if after and tag is not None else {}
        async with self._request("GET", path, None, headers) as answer:
            if answer.status >= 400:
                problem = problem_in(answer.status, await answer.read())
                if _may_repeat(problem, repeatable=True):
                    raise Cut(problem.detail or problem.title, sent=False)
                raise error_of(problem, self.place.url, name)
            yield Download(answer)

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, data: Any, headers: dict[str, str], *, seconds: float | None = None
    ) -> AsyncIterator[ClientResponse]:
        """Return an answer, which may take `seconds` in total; without `seconds`, each piece has the usual timeout.

        Raises `Cut`.
        """
        import aiohttp

        assert self._session is not None
        patience = self.place.timeout
        limits = aiohttp.ClientTimeout(
            total=seconds, sock_read=None if seconds else patience, sock_connect=min(CONNECT_SECONDS, patience)
        )
        try:
            async with self._session.request(
                method, self.place.url + path, data=data, headers=headers, allow_redirects=False, timeout=limits
            ) as answer:
                yield answer
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Cut(str(error), sent=False) from error
        except TimeoutError as error:
            raise Cut(f"no answer in {seconds or patience:g} s", sent=True) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Cut(f"the connection broke: {error or type(error).__name__}", sent=True) from error

    @asynccontextmanager
    async def socket(self, path: str, name: str) -> AsyncIterator[Socket]:
        """Return a WebSocket for the conversation `name`. Raises `Cut`, or the error for which it is refused."""
        import aiohttp

        assert self._session is not None
        try:
            with anyio.fail_after(self.place.timeout):
                socket = await self._session.ws_connect(
                    self.place.url + path,
                    max_msg_size=MESSAGE,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS),  # pyright: ignore[reportCallIssue]
                )
        except aiohttp.WSServerHandshakeError as error:
            raise self._refused(error.status, name) or Cut(f"HTTP status {error.status}", sent=False) from error
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is one
            raise Cut(f"{error or type(error).__name__}", sent=False) from error
        try:
            yield Socket(socket, self.place, name)
        finally:
            with anyio.CancelScope(shield=True):
                await socket.close()

    def _refused(self, status: int, name: str) -> AgentrtError | None:
        codes = {401: "", 403: "", 404: "conversation-missing", 410: "cursor-expired"}
        if status not in codes:
            return None
        detail = "this key may not follow the conversation" if status == 403 else "the server's log is another now"
        return error_of(Problem("", status, detail, codes[status]), self.place.url, name)


def _may_repeat(problem: Problem, repeatable: bool) -> bool:
    """Return whether a request with this answer may be repeated."""
    passing = problem.status in _AGAIN and problem.code != "log-failed"
    return passing or (repeatable and problem.status in _BETWEEN and not problem.code)
