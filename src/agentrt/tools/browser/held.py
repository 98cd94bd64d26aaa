"""`Held`: the session that an executor uses, leased with its first call and given back when it is closed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...errors import ToolError
from ...network.egress import MOST_BYTES
from ...protocols import Lease, ToolContext
from ...specs import Workspace
from ..definition import Params
from ..web.asked import allowed, number
from .chromium import chromium
from .session import STEP_SECONDS, Session, session

TRIES = 3
"""Browsers that are started for one call."""


class Held:
    """All tools of a conversation share one session, and the conversations of a tree one browser.

    Parameters of a tool: `allow_private`, hosts of this network that pages may reach, with commas between them;
    `step_seconds`, how long one action may take; `most_mib`, what one connection may bring.
    """

    def __init__(self, params: Params) -> None:
        self._allowed = allowed(params)
        self._seconds = number(params, "step_seconds", STEP_SECONDS)
        self._most = int(number(params, "most_mib", MOST_BYTES >> 20)) << 20
        self._lease: Lease[Session] | None = None

    async def session(self, context: ToolContext) -> Session:
        """The session. Raises `ToolError` where no browser can be started."""
        for _ in range(TRIES):
            lease = self._lease
            if lease is None or lease.ended or not lease.value.alive:
                self._end()
                lease = self._lease = await context.lease("browser session", lambda: self._opened(context))
            if await lease.value.ready():
                return lease.value
        raise ToolError("the browser ends as soon as it was started: `agentrt browser check` says more")

    def _end(self) -> None:
        """Give back what has ended, for all who share it."""
        lease = self._lease
        if lease is not None and not lease.ended:
            lease.value.end_browser()
            lease.end()
        self.release()

    @asynccontextmanager
    async def _opened(self, context: ToolContext) -> AsyncIterator[Session]:
        allowed, mark, most = self._allowed, context.conversation, self._most
        kind = f"browser that reaches {', '.join(sorted(allowed))}" if allowed else "browser"
        browser = await context.lease(kind, lambda: chromium(allowed, mark, most), tree=True)
        async with session(browser, self._seconds) as made:
            yield made

    def release(self) -> None:
        """Give it back."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()


def one_at_a_time(action: object, workspace: Workspace) -> tuple[str, ...]:
    """The resource of all calls: no two act on the browser of a conversation at once."""
    return ("browser",)
