"""`Logins`: logins that wait for a browser to come back to our server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hmac import compare_digest
from urllib.parse import parse_qs, urlsplit

from anyio.abc import TaskGroup

from ..errors import AgentrtError, ToolError
from ..specs.mcp import MCPServer
from .causes import cause_of
from .login import Person, Redirected, log_in
from .tokens import Tokens

MOST = 10
"""Maximum number of waiting logins of one owner."""


class Logins:
    """The logins in progress. A person opens a login's address; the browser brings its `state` back, which ends it."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Login] = {}
        """By the `state` in its address."""
        self._begun: list[str | None] = []
        """The owner of each login in progress."""

    async def begin(
        self,
        tasks: TaskGroup,
        server: MCPServer,
        owner: str | None,
        tokens: Tokens,
        redirect: str,
        then: Callable[[], None],
        proof: str = "",
    ) -> str:
        """Begin a login and return the address that a person opens. `then` is called after the login.

        Raises `ToolError` that says why there is none, and `ConfigurationError` if no tokens can be kept.
        """
        if self._begun.count(owner) >= MOST:
            raise ToolError("too many logins wait already: end one, or try again in ten minutes")
        self._begun.append(owner)
        login = _Login(owner, proof)

        async def show(url: str) -> None:
            state = parse_qs(urlsplit(url).query).get("state", [""])[0]
            self._waiting[state] = login
            login.url.set_result(url)

        async def run() -> None:
            try:
                await log_in(server, tokens, Person(redirect, show, lambda: login.came))
                login.ended.set_result(None)
                then()
            except Exception as error:
                waits = login.ended if login.url.done() else login.url
                waits.set_exception(error if isinstance(error, AgentrtError) else ToolError(cause_of(error)))
                waits.exception()  # retrieved here, in case nobody waits
            finally:
                self._begun.remove(owner)
                self._waiting = {state: other for state, other in self._waiting.items() if other is not login}

        tasks.start_soon(run)
        return await asyncio.shield(login.url)

    async def finish(self, found: Redirected, proof: str) -> None:
        """Finish the login that a browser comes back from. `proof` shows that this browser began it.

        Raises `ToolError` if the login fails, is unknown or was begun elsewhere.
        """
        login = self._waiting.get(found.state)
        if login is not None and not compare_digest(login.proof.encode(), proof.encode()):
            raise ToolError("it was begun elsewhere. If you began it, give this address to the program that you used")
        await self._finish(login, found)

    async def finish_for(self, owner: str | None, found: Redirected) -> None:
        """Finish a login of an owner, who passes on what the browser brought. Raises `ToolError` like `finish`."""
        login = self._waiting.get(found.state)
        await self._finish(login if login is not None and login.owner == owner else None, found)

    async def _finish(self, login: _Login | None, found: Redirected) -> None:
        if login is None or login.came.done():
            raise ToolError("this login is no longer open: begin it again")
        login.came.set_result(found)
        await asyncio.shield(login.ended)


class _Login:
    def __init__(self, owner: str | None, proof: str) -> None:
        self.owner, self.proof = owner, proof
        loop = asyncio.get_running_loop()
        self.url: asyncio.Future[str] = loop.create_future()
        self.came: asyncio.Future[Redirected] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
