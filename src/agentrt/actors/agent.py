"""`AgentActor`: calls the model and logs what it answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal

import anyio
import anyio.to_thread

from ..context.budget import BYTES_A_TOKEN, afford, cost, estimated_tokens
from ..context.images import image_blobs, with_blobs
from ..context.messages import Message, Transcript
from ..context.replies import ModelReply, Toolbox, reply_events
from ..decisions import CallModel
from ..errors import ContextWindowExceeded, ModelError, NoLongerDue
from ..events import (
    BudgetReserved,
    CondensationRequest,
    ConversationErrorEvent,
    Event,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
)
from ..ids import new_id
from ..ledger import allowance
from ..protocols import FailedTry, ModelClient, ModelRequest, Watch
from ..specs import Capabilities
from ..specs.content import text
from ..specs.llm import members, named
from ..usage import Usage
from .dispatcher import Perform
from .event_log import Log

MARGIN = 1.1
"""By how much an estimate that was corrected by the last prompt is still too high."""


class _Draft(Watch):
    """A reply as it streams in: shown at once, kept in case it is cut. Each try of the call is a draft of its own."""

    def __init__(self, log: Log, command: str, miscount: float) -> None:
        self._log, self._command, self._miscount = log, command, miscount
        self._begin()

    def _begin(self) -> None:
        self.id, self.begun = new_id(), time.monotonic()
        self.first: float | None = None
        """Seconds until the first piece came."""
        self.prompt: int | None = None
        """What the prompt was estimated at, where that was needed."""
        self._pieces: list[str] = []
        self._shown = 0
        self._sent: tuple[ModelRequest, Capabilities] | None = None

    def show(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        if self.first is None:
            self.first = round(time.monotonic() - self.begun, 6)
        if channel == "text":
            self._pieces.append(piece)
        self._shown += len(piece)
        self._log.show(self.id, channel, piece, self._command)

    async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
        """Reserve what the call may use, where there is a budget; durable before it is sent."""
        self.begun, self._sent = time.monotonic(), (request, known)
        state = self._log.state
        limits = state.spec.limits
        if limits.max_cost is None and limits.max_tokens is None:
            return None
        left, wanted = allowance(state.ledger, limits), request.one.max_output_tokens
        may = afford(left, limits, self._estimated(), wanted, known)
        usage_id = request.one.usage_id
        await self._log.append(
            BudgetReserved(command=self._command, tokens=may.tokens, cost=may.cost, usage_id=usage_id)
        )
        return may.answer

    async def failed(self, failure: FailedTry) -> None:
        """Note a try that failed; its text is void."""
        usage, price, usage_id = self.spent(failure.code)
        void, shown = self.id, self.first is not None
        self._begin()
        self._log.drop(void)
        await self._log.append(
            ModelCallRetried(
                command=self._command,
                attempt=failure.attempt,
                model=failure.model,
                next_model=failure.next_model,
                code=failure.code,
                detail=failure.detail,
                wait=failure.wait,
                draft=void if shown else None,
                usage=usage,
                cost=price,
                usage_id=usage_id,
            )
        )

    def spent(self, code: str) -> tuple[Usage, float | None, str]:
        """What a try that ended so used, its price and its usage id, estimated: a provider bills what it worked on."""
        if self._sent is None:
            return Usage(), None, ""
        request, known = self._sent
        if self.first is None and code not in ("interrupted", "timeout"):
            return Usage(), None, request.one.usage_id
        usage = Usage(self._estimated(), self._shown // BYTES_A_TOKEN)
        return usage, cost(usage, known), request.one.usage_id

    def _estimated(self) -> int:
        assert self._sent is not None
        request, _ = self._sent
        self.prompt = estimated_tokens(request.messages, request.tools)
        return int(self.prompt * self._miscount)

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
        self._miscount = 1.0
        """How many tokens a prompt had last for each that was estimated."""

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Make one call; its outcome is one batch, whether it ended, failed or was cut."""
        assert isinstance(message.command, CallModel)
        command = message.command.id
        draft, begun = _Draft(self._log, command, self._miscount), time.monotonic()
        try:
            reply = await self._client.complete(await self._request(), draft)
        except ModelError as error:
            await self._log.append(*draft.cut(command), *self._failed(command, error, draft, begun), command=command)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                called = self._cut(command, draft, begun, "interrupted")
                await self._log.append(*draft.cut(command), called, command=command)
            raise
        else:
            await self._answered(command, reply, draft, begun)

    async def _answered(self, command: str, reply: ModelReply, draft: _Draft, begun: float) -> None:
        if draft.prompt and reply.usage.prompt_tokens:
            self._miscount = min(max(MARGIN * reply.usage.prompt_tokens / draft.prompt, 0.1), 10.0)
        called = self._called(command, begun, reply, draft.first)
        events = reply_events(reply, self._toolbox, draft.id, called.id)
        try:
            await self._log.append(called, *events, command=command)
        except NoLongerDue:
            with anyio.CancelScope(shield=True):
                await self._log.append(*draft.cut(command), called, command=command)

    async def _request(self) -> ModelRequest:
        state = self._log.state
        assert state.prompt is not None
        assert state.created is not None
        view = state.branch.view
        missing = await self._log.load(self._transcript.missing(view))
        messages: Sequence[Message] = self._transcript.of(view, missing)
        if self._transcript.has_more and (kept := image_blobs(messages)):
            blobs = {sha256: await self._log.fetch(blob) for sha256, blob in kept.items()}
            messages = await anyio.to_thread.run_sync(with_blobs, messages, blobs)
        return ModelRequest(state.spec.llm, messages, state.prompt.tools, state.created.conversation_id)

    def _called(self, command: str, begun: float, reply: ModelReply, first: float | None) -> ModelCalled:
        llm = self._log.state.spec.llm
        return ModelCalled(
            command=command,
            model=reply.model or named(llm),
            usage=reply.usage,
            cost=reply.cost,
            latency=round(time.monotonic() - begun, 6),
            time_to_first_token=first,
            usage_id=reply.usage_id or members(llm)[0].usage_id,
            llm_response_id=reply.response_id,
        )

    def _cut(self, command: str, draft: _Draft, begun: float, error: str) -> ModelCalled:
        """The end of a call that has no reply."""
        llm = self._log.state.spec.llm
        usage, price, usage_id = draft.spent(error)
        return ModelCalled(
            command=command,
            model=named(llm),
            usage=usage,
            cost=price,
            latency=round(time.monotonic() - begun, 6),
            time_to_first_token=draft.first,
            usage_id=usage_id or members(llm)[0].usage_id,
            error=error,
            estimated=usage != Usage(),
        )

    def _failed(self, command: str, error: ModelError, draft: _Draft, begun: float) -> tuple[Event, ...]:
        called = self._cut(command, draft, begun, error.code)
        if isinstance(error, ContextWindowExceeded):
            return (called, CondensationRequest(reason=str(error), caused_by=called.id))
        return (
            called,
            ConversationErrorEvent(code=error.code, detail=str(error), retryable=error.retryable, caused_by=called.id),
        )
