"""`loopback`: a port of this machine to which a browser comes back after a login (RFC 8252, 7.3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import anyio.to_thread

from ..errors import ConfigurationError
from .login import Redirected

PATH = "/callback"
_SAID = b"<!doctype html><meta charset=utf-8><title>agentrt</title><p>You can close this page and go back to agentrt."


@asynccontextmanager
async def loopback(port: int = 0) -> AsyncIterator[tuple[str, Callable[[], Awaitable[Redirected]]]]:
    """Provide the address to come back to, and a function that waits for that.

    Raises `ConfigurationError` if the port is taken.
    """
    loop = asyncio.get_running_loop()
    came: asyncio.Future[Redirected] = loop.create_future()

    def tell(found: Redirected) -> None:
        if not came.done():
            came.set_result(found)

    class Handler(BaseHTTPRequestHandler):
        timeout = 5.0

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            if address.path != PATH:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(_SAID)))
            self.end_headers()
            self.wfile.write(_SAID)
            loop.call_soon_threadsafe(tell, Redirected.read(address.query))

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing, because the address contains a code."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise ConfigurationError(f"port {port} of this machine is taken: {error.strerror}") from error
    with server:
        serving = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{PATH}", lambda: came
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(server.shutdown)
            serving.join()
