"""`Ref`: the only way to an actor."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import anyio

from ...errors import AgentrtError
from .mailbox import Mailbox
from .messages import Envelope, Request, Then

R = TypeVar("R")

CLEANUP_SECONDS = 5.0
"""Seconds that a cancelled ask waits for its handler to clean up."""


class Ref:
    """Sends requests to one actor's bounded mailbox. If it is full, the asker waits."""

    __slots__ = ("_mailbox", "name")

    def __init__(self, mailbox: Mailbox) -> None:
        self.name, self._mailbox = mailbox.name, mailbox

    async def ask(self, request: Request[R]) -> R:
        """Return the actor's reply.

        Raise the expected error that the handler raised, `ActorCrashed` if a bug ended it, and `ActorStopped` if the
        actor is gone. Cancelling this cancels the handler and waits for its cleanup.
        """
        reply: asyncio.Future[R] = asyncio.get_running_loop().create_future()

        def then(value: R, error: AgentrtError | None) -> None:
            if reply.cancelled():
                return
            if error is None:
                reply.set_result(value)
            else:
                reply.set_exception(error)

        try:
            envelope = self._mailbox.post(request, then)
        except asyncio.QueueFull:
            envelope = await self._mailbox.send(request, then)
        try:
            return await reply
        except asyncio.CancelledError:
            envelope.cancel()
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLEANUP_SECONDS):
                await envelope.ended()
            raise

    def post(self, request: Request[Any], then: Then) -> Envelope:
        """Send without waiting; `then` gets the outcome. Raise `asyncio.QueueFull` or `ActorStopped`."""
        return self._mailbox.post(request, then)
