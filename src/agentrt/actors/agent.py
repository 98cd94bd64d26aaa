"""`AgentActor`: calls the model and logs what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ..chain import Chain
from ..context.images import image_blobs, with_blobs
from ..context.messages import Message, Transcript, around
from ..context.replies import ModelReply, Toolbox, reply_events
from ..decisions import CallModel
from ..errors import ContextWindowExceeded, ModelError, NoLongerDue
from ..events import CondensationRequest, ConversationErrorEvent, Event, ModelCalled
from ..protocols import ModelClient, ModelRequest
from ..specs import ToolDefinition
from ..specs.llm import window_of
from ..state import Seen
from .dispatcher import Perform
from .draft import Draft
from .event_log import Log
from .veil import Veil

MARGIN = 1.1
"""Safety factor for an estimate of tokens that is corrected by the last prompt."""


class AgentActor(AbstractAsyncContextManager["AgentActor"]):
    """Performs `CallModel`."""

    def __init__(self, log: Log, client: ModelClient, toolbox: Toolbox, veil: Veil) -> None:
        self._log, self._client, self._toolbox, self._veil = log, client, toolbox, veil
        self._around = around(log.state.spec)
        self._transcript = Transcript(self._around)
        self._hidden = 0
        """The version of the secrets that are masked in the transcript."""
        self._tools: tuple[ToolDefinition, ...] | None = None
        """The tools that the model is offered, with these secrets masked."""
        self._offered = log.state.servers

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Make one call. The outcome is one batch, whether the call ended, failed or was cut."""
        assert isinstance(message.command, CallModel)
        command = message.command.id
        state = self._log.state
        prompts = state.ledger.counting.prompts
        miscount = min(max(MARGIN * prompts, 0.1), 10.0) if prompts != 1.0 else 1.0
        draft = Draft(self._log, command, state.spec.llm, miscount)
        try:
            reply = await self._client.complete(await self._request(), draft)
        except ModelError as error:
            called = self._measured(draft.ended(error.code))
            await self._log.append(*draft.so_far(command), *_failed(error, called), command=command)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._log.append(*draft.so_far(command), draft.ended("interrupted"), command=command)
            raise
        else:
            await self._answered(command, reply, draft)

    async def _answered(self, command: str, reply: ModelReply, draft: Draft) -> None:
        called = self._measured(draft.called(reply))
        events = reply_events(reply, self._toolbox, draft.id, called.id, self._log.state.deferred)
        try:
            await self._log.append(called, *events, command=command)
        except NoLongerDue:
            with anyio.CancelScope(shield=True):
                await self._log.append(*draft.so_far(command), called, command=command)

    def _measured(self, called: ModelCalled) -> ModelCalled:
        """Return the end of a call with the model's context window, unless the log has it."""
        state = self._log.state
        window = window_of(state.spec.llm, self._client.known)
        return replace(called, window=window) if window != state.ledger.counting.window else called

    async def _request(self) -> ModelRequest:
        state = self._log.state
        assert state.prompt is not None
        assert state.created is not None
        messages = await self._messages(state.branch.view)
        if self._transcript.has_more and (kept := image_blobs(messages)):
            blobs = {sha256: await self._log.fetch(blob) for sha256, blob in kept.items()}
            messages = await anyio.to_thread.run_sync(with_blobs, messages, blobs)
        if self._offered is not state.servers:
            self._offered, self._tools = state.servers, None
        if self._tools is None:
            self._tools = self._veil.tools(state.tools)
        return ModelRequest(state.spec.llm, messages, self._tools, state.created.conversation_id)

    async def _messages(self, view: Chain[Seen]) -> Sequence[Message]:
        """Return what the model sees. Values that became secrets after they were logged are masked here."""
        if self._hidden != self._veil.version:
            self._hidden, self._transcript, self._tools = self._veil.version, Transcript(self._around), None
        missing = await self._log.load(self._transcript.missing(view))
        return self._transcript.of(view, [self._veil.event(event) for event in missing])


def _failed(error: ModelError, called: ModelCalled) -> tuple[Event, ...]:
    if isinstance(error, ContextWindowExceeded):
        return (called, CondensationRequest(reason=str(error), caused_by=called.id))
    return (
        called,
        ConversationErrorEvent(code=error.code, detail=str(error), retryable=error.retryable, caused_by=called.id),
    )
