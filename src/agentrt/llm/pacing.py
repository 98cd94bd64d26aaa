"""`PacedClient`: spreads replies that arrive at the same time over several rounds of the event loop."""

from __future__ import annotations

from ..context.replies import ModelReply
from ..pacing import Pace
from ..protocols import ModelClient, ModelRequest, Watch
from .around import Around

AT_ONCE = 16
"""Maximum number of replies per round of the event loop; the work that follows each takes about 200 us."""


class PacedClient(Around):
    """A wrapper that returns only a few replies in each round of the event loop, so that a thousand replies at once do
    not block it.
    """

    def __init__(self, inner: ModelClient) -> None:
        super().__init__(inner)
        self._pace = Pace(AT_ONCE)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Call the inner client."""
        reply = await self._inner.complete(request, watch)
        await self._pace.turn()
        return reply
