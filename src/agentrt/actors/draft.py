"""`Draft`: a model call as the log sees it: reserved before it is sent, shown as it streams in, and billed."""

from __future__ import annotations

import time
from functools import partial
from typing import Literal

from ..context.budget import BYTES_A_TOKEN, afford, cost, estimated_tokens
from ..context.replies import ModelReply
from ..errors import EventRefused
from ..events import BudgetReserved, Event, MessageEvent, ModelCalled, ModelCallRetried
from ..ids import new_id
from ..ledger import allowance
from ..protocols import FailedTry, ModelRequest, Watch
from ..specs import AnyLLM, Capabilities
from ..specs.content import text
from ..specs.llm import members, named
from ..state import State
from ..usage import Usage
from .event_log import Log


def _newer(seq: int, state: State) -> bool:
    return state.seq > seq


class Draft(Watch):
    """The reply to one call, kept in case it is cut. Each try of the call is a draft of its own.

    `miscount` is the factor that corrects an estimate of the prompt's tokens. A draft is shown only if it is `visible`.
    """

    def __init__(self, log: Log, command: str, llm: AnyLLM, miscount: float = 1.0, *, visible: bool = True) -> None:
        self._log, self._command, self._llm, self._miscount = log, command, llm, miscount
        self._visible, self._called = visible, time.monotonic()
        self._begin()

    def _begin(self) -> None:
        self.id, self.begun = new_id(), time.monotonic()
        self._first: float | None = None
        """Seconds until the first piece arrived."""
        self.prompt: int | None = None
        """The estimated tokens of the prompt, uncorrected; None if no estimate was needed."""
        self._pieces: list[str] = []
        self._shown = 0
        self._sent: tuple[ModelRequest, Capabilities] | None = None

    def show(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        if self._first is None:
            self._first = round(time.monotonic() - self.begun, 6)
        if channel == "text":
            self._pieces.append(piece)
        self._shown += len(piece)
        if self._visible:
            self._log.show(self.id, channel, piece, self._command)

    async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
        """Reserve what the call may use, durably before it is sent, and return the maximum tokens of its answer.

        Return None if there is no budget.
        """
        self.begun, self._sent = time.monotonic(), (request, known)
        while True:
            seq, limits, ledger = self._log.state.seq, self._log.state.spec.limits, self._log.state.ledger
            if limits.max_cost is None and limits.max_tokens is None:
                return None
            left, wanted = allowance(ledger, limits, besides=self._command), request.one.max_output_tokens
            may = afford(left, limits, self._estimated(), wanted, known)
            usage_id = request.one.usage_id
            reserved = BudgetReserved(command=self._command, tokens=may.tokens, cost=may.cost, usage_id=usage_id)
            try:  # a side call is not a command of the log; the end of a command releases its reservation
                await self._log.append(reserved, command=self._command if self._visible else None)
            except EventRefused:  # something else has reserved the budget, and will soon be visible
                await self._log.wait_for(partial(_newer, seq))
            else:
                return may.answer

    async def failed(self, failure: FailedTry) -> None:
        """Log a try that failed; its text is void."""
        usage, price, usage_id = self._spent(failure.code)
        void, shown = self.id, self._first is not None
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

    def _spent(self, code: str) -> tuple[Usage, float | None, str]:
        """Return the estimated usage and price of a try that failed, and its usage id.

        A provider bills a try if it wrote something, was interrupted or timed out.
        """
        if self._sent is None:
            return Usage(), None, ""
        request, known = self._sent
        if self._first is None and code not in ("interrupted", "timeout"):
            return Usage(), None, request.one.usage_id
        usage = Usage(self._estimated(), self._shown // BYTES_A_TOKEN)
        return usage, cost(usage, known), request.one.usage_id

    def _estimated(self) -> int:
        assert self._sent is not None
        request, _ = self._sent
        self.prompt = estimated_tokens(request.messages, request.tools, request.seconds)
        return int(self.prompt * self._miscount)

    def so_far(self, caused_by: str) -> tuple[Event, ...]:
        """Return the text so far as a partial message; nothing if there is none."""
        said = "".join(self._pieces)
        if not said:
            return ()
        return (MessageEvent(id=self.id, source="agent", content=text(said), partial=True, caused_by=caused_by),)

    def called(self, reply: ModelReply) -> ModelCalled:
        """Return the event that ends a call with a reply."""
        return ModelCalled(
            command=self._command,
            model=reply.model or named(self._llm),
            usage=reply.usage,
            cost=reply.cost,
            latency=round(time.monotonic() - self._called, 6),
            time_to_first_token=self._first,
            usage_id=reply.usage_id or members(self._llm)[0].usage_id,
            llm_response_id=reply.response_id,
            prompt_estimate=self.prompt or 0,
        )

    def ended(self, error: str) -> ModelCalled:
        """Return the event that ends a call without a reply."""
        usage, price, usage_id = self._spent(error)
        return ModelCalled(
            command=self._command,
            model=named(self._llm),
            usage=usage,
            cost=price,
            latency=round(time.monotonic() - self._called, 6),
            time_to_first_token=self._first,
            usage_id=usage_id or members(self._llm)[0].usage_id,
            error=error,
            estimated=usage != Usage(),
        )
