"""`ThinkingClient`: separates reasoning that a model writes into its text."""

from __future__ import annotations

from typing import Literal

from ..context.replies import ModelReply
from ..context.thoughts import Thoughts, reasoned
from ..protocols import FailedTry, ModelRequest, Watch
from ..specs import Capabilities
from .around import Around


class ThinkingClient(Around):
    """A wrapper that turns the text between `<think>` and `</think>`, in replies and streams, into reasoning.

    If a text has only the closing tag, that is known only at its end: then the reply is right, but the stream was not.
    """

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Call the inner client."""
        apart = _Apart(watch)
        try:
            return reasoned(await self._inner.complete(request, apart), request.tools)
        finally:
            apart.flush()


class _Apart(Watch):
    """Passes the pieces of a text on to another watch, each on its channel."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self._thoughts = watch, Thoughts()

    def show(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        if channel == "reasoning":
            self._watch.show(channel, piece)
            return
        for found, part in self._thoughts.feed(piece):
            self._watch.show(found, part)

    def flush(self) -> None:
        """Show the text that was held back."""
        for found, part in self._thoughts.flush():
            self._watch.show(found, part)

    async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
        return await self._watch.begin(request, known)

    async def failed(self, failure: FailedTry) -> None:
        self._thoughts = Thoughts()
        await self._watch.failed(failure)
