"""`CondenserActor`: makes a view shorter once a model has said that it is too long."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from ..context.condensing import forget_older_half
from ..decisions import Condense
from ..events import Condensation, ConversationErrorEvent
from .dispatcher import Perform
from .event_log import Log


class CondenserActor(AbstractAsyncContextManager["CondenserActor"]):
    """Performs `Condense` without a model: the older half is dropped from the view and said to be."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Condense the view as it is now. What cannot shrink ends the run, unless that was only asked for."""
        assert isinstance(message.command, Condense)
        here = self._log.state.branch
        condensation = forget_older_half(here.view)
        if condensation is None and here.condense == "asked":
            await self._log.append(Condensation(forgotten_event_ids=()), command=message.command.id)
        elif condensation is None:
            detail = "the model's context window is too small even for the last step: use a model with a larger one"
            await self._log.append(
                ConversationErrorEvent(code="context_window", detail=detail), command=message.command.id
            )
        else:
            await self._log.append(condensation, command=message.command.id)
