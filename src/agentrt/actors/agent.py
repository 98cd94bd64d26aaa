"""`AgentActor`: calls the model and logs what it answers."""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from typing import Literal

import anyio

from ..context.messages import Transcript
from ..context.replies import ModelReply, Toolbox, reply_events
from ..decisions import CallModel
from ..errors import ContextWindowExceeded, ModelError, NoLongerDue
from ..events import (
    CondensationRequest,
    ConversationErrorEvent,
    Delta,
    Event,
    MessageEvent,
    ModelCalled,
    new_id,
)
from ..protocols import ModelClient, ModelRequest
from ..specs.content import text
from .dispatcher import Perform
from .event_log import Log


class _Draft:
    """A reply as it streams in: shown at once, kept in case it is cut."""

    def __init__(self, log: Log) -> None:
        self.id = new_id()
        self._log = log
        self._pieces: list[str] = []

    def __call__(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        if channel == "text":
            self._pieces.append(piece)
        self._log.show(Delta(self.id, channel, piece))

    def cut(self, caused_by: str) -> tuple[Event, ...]:
        """The text so far as a partial message."""
        so_far = "".join(self._pieces)
        if not so_far:
            return ()
        partial = MessageEvent(id=self.id, source="agent", content=text(so_far), partial=True, caused_by=caused_by)
        return (partial,)


class AgentActor(AbstractAsyncContextManager["AgentActor"]):
    """Performs `CallModel`."""

    def __init__(self, log: Log, client: ModelClient, toolbox: Toolbox) -> None:
        self._log, self._client, self._toolbox = log, client, toolbox
        self._transcript = Transcript()

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Make one call; its outcome is one batch, whether it ended, failed or was cut."""
        assert isinstance(message.command, CallModel)
        command = message.command.id
        draft, begun = _Draft(self._log), time.monotonic()
        try:
            reply = await self._client.complete(await self._request(), draft)
        except ModelError as error:
            await self._log.append(*self._failed(command, error, begun), command=command)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._log.append(
                    *draft.cut(command), self._called(command, begun, error="interrupted"), command=command
                )
            raise
        else:
            await self._answered(command, reply, draft, begun)

    async def _answered(self, command: str, reply: ModelReply, draft: _Draft, begun: float) -> None:
        called = self._called(command, begun, reply)
        events = reply_events(reply, self._toolbox, draft.id, called.id)
        try:
            await self._log.append(called, *events, command=command)
        except NoLongerDue:
            with anyio.CancelScope(shield=True):
                await self._log.append(*draft.cut(command), called, command=command)

    async def _request(self) -> ModelRequest:
        state = self._log.state
        assert state.prompt is not None
        view = state.branch.view
        missing = await self._log.load(self._transcript.missing(view))
        return ModelRequest(state.spec.llm, self._transcript.of(view, missing), state.prompt.tools)

    def _called(
        self, command: str, begun: float, reply: ModelReply | None = None, error: str | None = None
    ) -> ModelCalled:
        llm = self._log.state.spec.llm
        latency = round(time.monotonic() - begun, 6)
        if reply is None:
            return ModelCalled(command=command, model=llm.model, latency=latency, usage_id=llm.usage_id, error=error)
        return ModelCalled(
            command=command,
            model=llm.model,
            usage=reply.usage,
            cost=reply.cost,
            latency=latency,
            usage_id=llm.usage_id,
            llm_response_id=reply.response_id,
        )

    def _failed(self, command: str, error: ModelError, begun: float) -> tuple[Event, ...]:
        called = self._called(command, begun, error=error.code)
        if isinstance(error, ContextWindowExceeded):
            return (called, CondensationRequest(reason=str(error), caused_by=called.id))
        return (
            called,
            ConversationErrorEvent(code=error.code, detail=str(error), retryable=error.retryable, caused_by=called.id),
        )
