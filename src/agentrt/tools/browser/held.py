"""`Held`: an executor's lease of a session, from its first call until it is closed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...errors import ToolError
from ...network.egress import MOST_BYTES
from ...protocols import Lease, ToolContext
from ...specs import WorkspaceSpec
from ..definition import Params
from ..web.asked import allowed, number
from .chromium import chromium, chromium_there
from .session import STEP_SECONDS, Session, session

TRIES = 3
"""Maximum number of browsers that are started for one call."""


class Held:
    """A lease of a session. All tools of a conversation share one session, and the conversations of a tree one browser.

    Parameters of a tool: `allow_private`, comma-separated hosts of this network that pages may reach; `step_seconds`,
    how long one action may take; `most_mib`, how much one connection may bring.
    """

    def __init__(self, params: Params) -> None:
        self._allowed = allowed(params)
        self._seconds = number(params, "step_seconds", STEP_SECONDS)
        self._most = int(number(params, "most_mib", MOST_BYTES >> 20)) << 20
        self._lease: Lease[Session] | None = None

    async def session(self, context: ToolContext) -> Session:
        """Return the session. Raises `ToolError` if no browser can be started."""
        for _ in range(TRIES):
            lease = self._lease
            if lease is None or lease.ended or not lease.value.alive:
                self._end()
                lease = self._lease = await context.lease("browser session", lambda: self._opened(context))
            if await lease.value.ready():
                return lease.value
        raise ToolError("the browser ends as soon as it was started: `agentrt browser check` says more")

    def _end(self) -> None:
        """End a session that no longer works, for all who share it, and release it."""
        lease = self._lease
        if lease is not None and not lease.ended:
            lease.value.end_browser()
            lease.end()
        self.release()

    @asynccontextmanager
    async def _opened(self, context: ToolContext) -> AsyncIterator[Session]:
        if not context.workspace.on_this_machine:
            place = context.place
            async with session(await context.lease("browser", lambda: chromium_there(place)), self._seconds) as made:
                yield made
            return
        allowed, mark, most = self._allowed, context.conversation, self._most
        kind = f"browser that reaches {', '.join(sorted(allowed))}" if allowed else "browser"
        browser = await context.lease(kind, lambda: chromium(allowed, mark, most), tree=True)
        async with session(browser, self._seconds) as made:
            yield made

    def release(self) -> None:
        """Release the session."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()


def one_at_a_time(action: object, workspace: WorkspaceSpec) -> tuple[str, ...]:
    """Return the one resource of all calls, so that no two act on the browser of a conversation at once."""
    return ("browser",)
