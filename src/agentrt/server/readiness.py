"""`Readiness`: whether a server takes work."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from ..errors import AgentrtError, LogFailed
from ..runtime import Runtime
from ..specs import Agent
from .collecting import settle
from .problems import Refusal, refusal
from .settings import ServerSettings

LOADING = "the model client is being loaded"
RETRY_SECONDS = 5

PROBE_SECONDS = 1.0
"""Minimum number of seconds between two probes of a storage that cannot be written: anybody may ask for readiness."""

_log = logging.getLogger(__name__)


class Readiness:
    """Whether a server takes work: from when model calls are loaded until the server is told to stop, except while
    logs cannot be written.

    After a failed write, it takes work again once an event was committed, or once `probe` could write something.
    `committed` returns the number of committed events.
    """

    def __init__(self, committed: Callable[[], int], probe: Callable[[], Awaitable[None]]) -> None:
        self._committed, self._probe = committed, probe
        self._unwritable: str | None = None
        """Why logs could not be written at last; None if they can."""
        self._committed_then, self._probed = 0, 0.0
        self.waits_for: str | None = LOADING
        """Why the server does not take work yet; None if it does."""
        self.stopping = False

    @property
    def ready(self) -> bool:
        """Whether the server takes work."""
        return self.waits_for is None and not self.stopping

    def log_failed(self, conversation_id: str, failure: Exception) -> None:
        """Note that a log could not be written; a `Report`."""
        if isinstance(failure, LogFailed):
            self._unwritable = failure.cause.strerror or str(failure.cause)
            self._committed_then = self._committed()

    async def check(self) -> None:
        """Raise `Refusal` while the server takes no work."""
        if not self.ready:
            raise (
                stopping()
                if self.stopping
                else refusal(503, "Not ready", str(self.waits_for), "not-ready", Retry_After="1")
            )
        if self._unwritable is not None and not await self._is_writable():
            detail = f"the logs cannot be written ({self._unwritable}): free some space, or look at the disk"
            raise refusal(503, "Not ready", detail, "log-failed", Retry_After=str(RETRY_SECONDS))

    async def _is_writable(self) -> bool:
        """Return whether logs can be written again."""
        if self._committed() > self._committed_then:
            self._unwritable = None
        elif time.monotonic() - self._probed >= PROBE_SECONDS:
            self._probed = time.monotonic()
            try:
                await self._probe()
            except AgentrtError as error:
                _log.warning("the logs still cannot be written: %s", error)
            else:
                self._unwritable = None
        return self._unwritable is None

    async def load(self, runtime: Runtime, settings: ServerSettings, agent: Agent | None) -> None:
        """Load the dependencies of model calls, off the loop, and check those of the server's own agent."""
        try:
            await runtime.load()
            if settings.own_process:
                settle()
            self.waits_for = None
            if agent is not None:
                await runtime.client.prepare(agent.llm)
        except AgentrtError as error:
            _log.warning("the agent of this server cannot work as it is: %s", error)
        except Exception as error:
            self.waits_for = f"the model client cannot be loaded: {type(error).__name__}"
            _log.exception("the model client cannot be loaded")


def stopping() -> Refusal:
    """Return the refusal of new work while the server stops."""
    detail = "it takes no new work: come again when it is back"
    return refusal(503, "The server is stopping", detail, "draining", Retry_After=str(RETRY_SECONDS))
