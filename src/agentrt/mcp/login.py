"""`log_in`: a login at a server over HTTP (OAuth 2.1), by a person with a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
import msgspec

from ..errors import ConfigurationError, ToolError
from ..loading import load
from ..secrets import HIDDEN
from ..specs.mcp import MCPServer
from .causes import cause_of, innermost
from .tokens import Tokens

LONGEST = 600.0
"""Seconds that a person may take."""


class Redirected(msgspec.Struct, frozen=True):
    """The parameters that a browser brings back from the authorization server."""

    code: str = ""
    state: str = ""
    iss: str | None = None
    error: str = ""

    @staticmethod
    def read(query: str) -> Redirected:
        """Return the parameters in the query of the address that the browser was sent to."""
        given = {name: values[0] for name, values in parse_qs(query).items()}
        error = " ".join(given[name] for name in ("error", "error_description") if name in given)
        return Redirected(given.get("code", ""), given.get("state", ""), given.get("iss"), error)


class Person(msgspec.Struct, frozen=True):
    """A person who logs in: `show` shows an address, and `answered` waits for the browser to come to `redirect`."""

    redirect: str
    show: Callable[[str], Awaitable[None]]
    answered: Callable[[], Awaitable[Redirected]]


def without(words: str, way: Any) -> str:
    """Return words with the secrets masked that were sent to the server, which may have repeated them."""
    for secret in way.secrets:
        words = words.replace(secret, HIDDEN)
    return words


async def log_in(server: MCPServer, tokens: Tokens, person: Person) -> None:
    """Have a person log in at a server whose variables are filled in, and keep the tokens.

    Raises `ToolError` that says why there are none, and `ConfigurationError` if the server takes no login or the tokens
    cannot be kept.
    """
    if not server.logs_in:
        what = "it is a program of this machine" if server.command else "its configuration gives other credentials"
        raise ConfigurationError(f"it takes no login: {what}")
    failed: list[BaseException] = []
    await tokens.ready()
    library = await load(f"{__package__}.remote")
    way = library.Remote(server, tokens, person)

    async def attempt() -> None:
        try:
            async with way.opened() as client:
                await client.list_tools()
        except Exception as error:
            failed.append(innermost(error))

    with anyio.move_on_after(LONGEST) as limit:
        async with anyio.create_task_group() as tasks:  # a dying transport cancels the task that holds it
            tasks.start_soon(attempt)
    if limit.cancelled_caught:
        raise ToolError(f"nobody has logged in within {LONGEST:g} s")
    if way.logged_in:
        return
    if failed:
        raise failed[0] if isinstance(failed[0], ConfigurationError) else ToolError(without(cause_of(failed[0]), way))
    raise ToolError("it asks for no login")
