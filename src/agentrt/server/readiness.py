"""`Readiness`: whether a server takes work."""

from __future__ import annotations

import logging

from ..errors import AgentrtError
from ..runtime import Runtime
from .collecting import settle
from .problems import Refusal, refusal
from .settings import ServerSettings

LOADING = "the model client is being loaded"
RETRY_SECONDS = 5

_log = logging.getLogger(__name__)


class Readiness:
    """Whether a server takes work: from when model calls are loaded until the server is told to stop."""

    def __init__(self) -> None:
        self.waits_for: str | None = LOADING
        """Why the server does not take work yet; None if it does."""
        self.stopping = False

    @property
    def ready(self) -> bool:
        """Whether the server takes work."""
        return self.waits_for is None and not self.stopping

    def check(self) -> None:
        """Raise `Refusal` while the server takes no work."""
        if not self.ready:
            raise (
                stopping()
                if self.stopping
                else refusal(503, "Not ready", str(self.waits_for), "not-ready", Retry_After="1")
            )

    async def load(self, runtime: Runtime, settings: ServerSettings) -> None:
        """Load the dependencies of model calls, off the loop."""
        try:
            await runtime.load()
            if settings.own_process:
                settle()
            self.waits_for = None
            if settings.agent is not None:
                await runtime.client.prepare(settings.agent.llm)
        except AgentrtError as error:
            _log.warning("the agent of this server cannot work as it is: %s", error)
        except Exception as error:
            self.waits_for = f"the model client cannot be loaded: {type(error).__name__}"
            _log.exception("the model client cannot be loaded")


def stopping() -> Refusal:
    """Return the refusal of new work while the server stops."""
    detail = "it takes no new work: come again when it is back"
    return refusal(503, "The server is stopping", detail, "draining", Retry_After=str(RETRY_SECONDS))
