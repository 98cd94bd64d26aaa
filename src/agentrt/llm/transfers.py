"""`Transfers`: HTTP requests over one pool of connections, by libcurl on the event loop. Imported when it is needed.

Over HTTP/2, libcurl resets the stream of a cancelled request, opens another connection when one can carry no more
streams, and lets the streams of a connection that the server retires come to their end.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from http.client import responses
from typing import Protocol

import anyio
import anyio.to_thread
import certifi
import pycurl

from .addresses import Address, address_of

KEPT_ALIVE = 100
"""Maximum number of idle connections kept for later requests."""

IDLE = 60
"""Seconds after which an idle connection is not used again."""

CLOSING = 1.0
"""Maximum number of seconds to close the pool: abandoned DNS lookups continue in their threads."""

DEAD = 30
"""Seconds after which an idle connection is closed if its other end is gone."""

AGAIN = 0.1
"""Seconds within which a request is sent once more if its connection turns out to be closed: an idle connection that
the server had closed fails at once. Later, the server may have worked on the request."""

BUFFER = 2048
"""Bytes that libcurl reads before it passes them on. It reads ten times in a row, so this limits how long a server with
very small or highly compressed pieces can block the event loop."""

_ADDRESSES = 256
"""Number of parsed addresses that are kept."""

_ERRORS = {
    number: name.removeprefix("E_").lower().replace("_", " ")
    for name, number in vars(pycurl).items()
    if name.startswith("E_") and isinstance(number, int)
}
"""The names of libcurl's errors, for those that come without a message."""

_SUPPRESS_CONNECT_HEADERS = 265
"""An option that pycurl has no name for: it leaves out the headers of a proxy's answer to CONNECT."""

_REFUSED = -1
"""Returned to libcurl to end a transfer."""


class TransferError(Exception):
    """Raised if a request gets no answer, or an incomplete one, with the reason, mostly in libcurl's words."""


class Receiver(Protocol):
    """Takes the answer to one request. Called on the event loop, so it must not block.

    A method returns the maximum number of seconds to wait for the rest of the answer, which may be 0; None for no such
    limit. After that time, the request ends as if the answer had ended. An exception of a method ends the request, and
    is raised by `post`.
    """

    def begin(self, status: int, reason: str, headers: Mapping[str, str]) -> float | None:
        """Take the status, and the headers with names in lower case. Called once, before any piece."""
        ...

    def take(self, piece: bytes) -> float | None:
        """Take the next part of the body, decompressed."""
        ...


class _Transfer:
    """One request, from its start to the end of its answer."""

    def __init__(self, receiver: Receiver, loop: asyncio.AbstractEventLoop) -> None:
        self._receiver, self._loop = receiver, loop
        self._lines: list[bytes] = []
        self.version: str | None = None
        """The version of HTTP, once the answer has begun."""
        self._timer: asyncio.TimerHandle | None = None
        self._sent: list[float] = []
        self.refused = False
        """Whether another try was refused, because the server may have worked on the request."""
        self.over: asyncio.Future[None] = loop.create_future()

    def send(self, *_: object) -> int:
        """Return 0 to let libcurl send the request, 1 to refuse another try. Called before each try."""
        now = self._loop.time()
        self.refused = bool(self._sent) and (len(self._sent) > 1 or now - self._sent[0] > AGAIN)
        self._sent.append(now)
        return int(self.refused)

    def header(self, line: bytes) -> int | None:
        """Take a line of the headers; an empty one ends them. Interim answers and trailers are left out."""
        if self.version is not None:
            return None
        if line.strip():
            self._lines.append(line)
            return None
        if not self._lines:
            return _REFUSED
        (version, status, reason), headers = _status(self._lines[0]), _headers(self._lines[1:])
        self._lines = []
        if status < 200:
            return None
        self.version = version
        return self._call(lambda: self._receiver.begin(status, reason, headers))

    def body(self, piece: bytes) -> int | None:
        """Take a part of the body."""
        return self._call(lambda: self._receiver.take(piece)) if self.version is not None else _REFUSED

    def end(self, error: BaseException | None = None) -> None:
        """End the request, unless it has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if not self.over.done() and not self._loop.is_closed():
            if error is None:
                self.over.set_result(None)
            else:
                self.over.set_exception(error)
                self.over.exception()  # marked as seen: nobody awaits it if the request is cancelled now

    def _call(self, receive: Callable[[], float | None]) -> int | None:
        if self.over.done():
            return _REFUSED
        try:
            rest = receive()
        except Exception as error:
            self.end(error)
            return _REFUSED
        if rest is not None and rest <= 0:
            self.end()
            return _REFUSED
        if rest is not None:
            self._expire(rest)
        return None

    def _expire(self, seconds: float) -> None:
        when = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self.end)


class Transfers:
    """A pool of connections on the running event loop. Proxies and certificates are those of the environment.

    Requests use HTTP/2 if the server offers it within TLS, else HTTP/1.1.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: dict[pycurl.Curl, _Transfer] = {}
        self._shared = set[str]()
        """The servers that last answered with HTTP/2, whose connections carry many streams."""
        self._watched = set[int]()
        self._timer: asyncio.TimerHandle | None = None
        self._trusted, self._address = _trusted(), lru_cache(_ADDRESSES)(address_of)
        self._multi: pycurl.CurlMulti | None = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._multi.setopt(pycurl.M_MAXCONNECTS, KEPT_ALIVE)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._remind)

    @property
    def stale(self) -> bool:
        """Whether its event loop is closed. If so, the pool can only be closed, too."""
        return self._loop.is_closed()

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, receiver: Receiver, patience: float = DEAD
    ) -> None:
        """Send a request, and return when its answer has ended; cancelling closes its connection or HTTP/2 stream.

        A connection is given up if the server takes no data for `patience` seconds, at least `DEAD`. Raises
        `TransferError`, and what the receiver raises.
        """
        multi, transfer = self._multi, _Transfer(receiver, self._loop)
        if multi is None:
            raise TransferError("the client is closed")
        try:
            address = self._address(url)
        except ValueError as error:
            raise TransferError(str(error)) from None
        curl = pycurl.Curl()
        try:
            try:
                self._prepare(curl, address, headers, body, transfer)
            except UnicodeError:
                raise TransferError("the request has characters that HTTP cannot have") from None
            curl.setopt(pycurl.SOCKOPTFUNCTION, partial(_watch_over, max(patience, DEAD)))
            multi.add_handle(curl)
            self._running[curl] = transfer
            await transfer.over
        finally:
            if transfer.version is not None:
                (self._shared.add if transfer.version == "HTTP/2" else self._shared.discard)(address.server)
            transfer.end()
            if self._running.pop(curl, None) is not None:
                multi.remove_handle(curl)
            curl.close()

    async def aclose(self) -> None:
        """End the requests that are under way, and close the connections."""
        multi, self._multi = self._multi, None
        if multi is None:
            return
        running, self._running = self._running, {}
        for curl, transfer in running.items():
            transfer.end(TransferError("the client was closed"))
            multi.remove_handle(curl)
        for file in list(self._watched) if not self.stale else ():
            self._watch(pycurl.POLL_REMOVE, file, None, None)
        self._watched.clear()
        if self._timer is not None:
            self._timer.cancel()
        with anyio.move_on_after(CLOSING, shield=True):
            await anyio.to_thread.run_sync(multi.close, abandon_on_cancel=True)

    def _prepare(
        self, curl: pycurl.Curl, address: Address, headers: Mapping[str, str], body: bytes, transfer: _Transfer
    ) -> None:
        lines = [
            f"{name}: {value}" if value else f"{name};"
            for name, value in headers.items()
            if not (address.has_user and name.lower() == "authorization")  # the user in the address takes precedence
        ]
        curl.setopt(pycurl.URL, address.url)
        curl.setopt(pycurl.PROXY, address.proxy)
        curl.setopt(pycurl.POST, 1)
        curl.setopt(pycurl.POSTFIELDS, body)
        curl.setopt(pycurl.USERAGENT, "agentrt")
        curl.setopt(pycurl.HTTPHEADER, [*lines, "Expect:"])
        curl.setopt(pycurl.ACCEPT_ENCODING, "")
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        curl.setopt(pycurl.PIPEWAIT, int(address.server in self._shared))  # instead of opening many connections
        curl.setopt(pycurl.MAXAGE_CONN, IDLE)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.BUFFERSIZE, BUFFER)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
        file, folder = self._trusted
        for option, value in ((pycurl.CAINFO, file), (pycurl.PROXY_CAINFO, file), (pycurl.CAPATH, folder)):
            if value is None:
                curl.unsetopt(option)
            else:
                curl.setopt(option, os.fsencode(value))
        curl.setopt(pycurl.PREREQFUNCTION, transfer.send)
        curl.setopt(pycurl.HEADERFUNCTION, transfer.header)
        curl.setopt(pycurl.WRITEFUNCTION, transfer.body)

    def _watch(self, what: int, file: int, multi: object, data: object) -> None:
        """Wait until a socket can be read or written, or stop waiting. Called by libcurl."""
        if file in self._watched:
            self._watched.discard(file)
            self._loop.remove_reader(file)
            self._loop.remove_writer(file)
        if self._multi is None or what == pycurl.POLL_REMOVE:
            return
        self._watched.add(file)
        if what & pycurl.POLL_IN:
            self._loop.add_reader(file, self._act, file, pycurl.CSELECT_IN)
        if what & pycurl.POLL_OUT:
            self._loop.add_writer(file, self._act, file, pycurl.CSELECT_OUT)

    def _remind(self, milliseconds: int) -> None:
        """Call libcurl back after that time, or not at all if it is negative. Called by libcurl."""
        if self._timer is not None:
            self._timer.cancel()
        late = milliseconds / 1000
        self._timer = (
            self._loop.call_later(late, self._act, pycurl.SOCKET_TIMEOUT, 0)
            if milliseconds >= 0 and self._multi is not None
            else None
        )

    def _act(self, file: int, ready: int) -> None:
        """Let libcurl read and write, and end the transfers that are complete."""
        multi = self._multi
        if multi is None:
            return
        multi.socket_action(file, ready)
        more = 1
        while more:
            more, complete, failed = multi.info_read()
            for curl in complete:
                self._end(curl)
            for curl, code, said in failed:
                self._end(curl, TransferError(said or _ERRORS.get(code, f"error {code} of libcurl")))

    def _end(self, curl: pycurl.Curl, error: TransferError | None = None) -> None:
        if (transfer := self._running.get(curl)) is not None:
            if error is None and transfer.version is None:
                error = TransferError("the answer was cut within its headers")
            if transfer.refused:
                error = TransferError("the connection was closed without an answer")
            transfer.end(error)


def _trusted() -> tuple[str | None, str | None]:
    """Return the file and the folder of the certificates to trust: those of SSL_CERT_FILE, of SSL_CERT_DIR, or of the
    system.
    """
    if file := os.environ.get("SSL_CERT_FILE"):
        return file, None
    if folder := os.environ.get("SSL_CERT_DIR"):
        return None, folder
    system = ssl.get_default_verify_paths()
    if system.cafile is None and system.capath is None:
        return certifi.where(), None
    return system.cafile, system.capath


def _watch_over(patience: float, file: int, purpose: int) -> int:
    """Have the system detect that the other end of a connection is gone, or takes no data for `patience` seconds."""
    connection = socket.socket(fileno=file)
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, DEAD // 2)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, DEAD // 6)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(patience * 1000))
    finally:
        connection.detach()
    return 0


def _status(line: bytes) -> tuple[str, int, str]:
    """Return the version of HTTP, and the status and reason of an answer; HTTP/2 has no reasons, so the usual one."""
    version, status, *reason = line.decode("latin-1").split(None, 2)
    return version, int(status), "".join(reason).strip() or responses.get(int(status), "")


def _headers(lines: list[bytes]) -> dict[str, str]:
    """Return the headers by their names in lower case; values of the same name are joined by commas."""
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode("latin-1").partition(":")
        name = name.strip().lower()
        found[name] = f"{found[name]}, {value.strip()}" if name in found else value.strip()
    return found
