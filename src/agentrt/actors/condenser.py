"""`CondenserActor`: makes a view shorter once a model has said that it is too long."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from ..context.condensing import forget_older_half
from ..decisions import Condense
from ..events import ConversationErrorEvent
from .dispatcher import Perform
from .event_log import Log


class CondenserActor(AbstractAsyncContextManager["CondenserActor"]):
    """Performs `Condense` without a model: the older half is dropped from the view and said to be."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Condense the view as it is now, or end the run when nothing can be dropped."""
        assert isinstance(message.command, Condense)
        condensation = forget_older_half(self._log.state.branch.view)
        if condensation is None:
            detail = "the model's context window is too small even for the last step: use a model with a larger one"
            await self._log.append(
                ConversationErrorEvent(code="context_window", detail=detail), command=message.command.id
            )
        else:
            await self._log.append(condensation, command=message.command.id)
