"""Conversations that run, and models that can be held, for tests of what happens meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio

from agentrt import Conversation
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelClient, ModelRequest, Watch
from agentrt.specs.content import plain
from agentrt.testing.scripted import Turn


@asynccontextmanager
async def running(conversation: Conversation) -> AsyncIterator[anyio.CancelScope]:
    """Run a conversation while something is done, and until it rests; the scope is that of both."""
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            await conversation.run()

        tasks.start_soon(work)
        yield tasks.cancel_scope


class HeldModel(ModelClient):
    """Gives one turn a call, and holds those whose number is in `held` until `release`, after half a sentence."""

    def __init__(self, turns: Sequence[Turn], held: Sequence[int] = (0,)) -> None:
        self._turns, self._held = list(turns), set(held)
        self.requests: list[ModelRequest] = []
        self.cut = 0
        self._calling = anyio.Event()
        self._release = anyio.Event()

    def release(self) -> None:
        """Let the call that is held go on."""
        self._release.set()

    async def calling(self) -> None:
        """Return when a call is held."""
        await self._calling.wait()
        self._calling = anyio.Event()

    def seen(self, number: int = -1) -> str:
        """All that was said in a request."""
        return "\n".join(plain(message.content) for message in self.requests[number].messages)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The next turn; one that was cut is given again."""
        number = len(self.requests)
        self.requests.append(request)
        if number in self._held:
            watch.show("text", "I was about")
            self._calling.set()
            try:
                await self._release.wait()
            except anyio.get_cancelled_exc_class():
                self.cut += 1
                raise
            self._release = anyio.Event()
        turn = self._turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn
