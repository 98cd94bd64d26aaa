"""`PacedClient`: replies that come at once go on one after the other."""

from __future__ import annotations

from ..context.replies import ModelReply
from ..pacing import Pace
from ..protocols import ModelClient, ModelRequest, Watch
from .around import Around

AT_ONCE = 16
"""Replies that go on in one round of the event loop: what follows from each takes some 200 us."""


class PacedClient(Around):
    """Another client, whose replies go on a few in each round of the event loop, so that a thousand of them hold up
    nobody.
    """

    def __init__(self, inner: ModelClient) -> None:
        super().__init__(inner)
        self._pace = Pace(AT_ONCE)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """As the inner client."""
        reply = await self._inner.complete(request, watch)
        await self._pace.turn()
        return reply
