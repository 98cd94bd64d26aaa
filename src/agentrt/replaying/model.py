"""`RecordedModel`: the model of a replay, which returns each recorded reply in its turn."""

from __future__ import annotations

from msgspec.structs import replace

from ..context.budget import BYTES_A_TOKEN
from ..context.messages import around, to_messages
from ..context.replies import ModelReply
from ..context.views import viewed
from ..errors import ModelError
from ..events import BudgetReserved, ModelCalled, ModelCallRetried
from ..protocols import FailedTry, ModelClient, ModelRequest, Watch
from ..specs import LLM, AnyLLM, Capabilities
from ..specs.llm import known_of, members
from ..usage import Usage
from .calls import Call
from .comparing import Side, compare_messages
from .recording import Recording
from .stage import Stage


class RecordedModel(ModelClient):
    """A `ModelClient` that returns the recorded replies if it is sent the recorded messages.

    Only the agent and judges call it, and only judges prepare each call.
    """

    def __init__(self, recording: Recording, stage: Stage, recorded: Side, replayed: Side) -> None:
        self._recording, self._stage = recording, stage
        self._recorded, self._replayed = recorded, replayed
        self._judging = False
        self._around = around(recording.created.agent)
        self.renamed: dict[str, str] = {}
        """Maps the recorded ids of delegated conversations to the replay's: calls may refer to them."""

    async def prepare(self, llm: AnyLLM) -> None:
        """Note that the next call is a judge's."""
        self._judging = True

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the recorded reply. Raises the recorded error; an interrupted call waits until it is interrupted
        again.
        """
        judging, self._judging = self._judging, False
        call = self._stage.next_judgement() if judging else self._stage.next_call()
        if call is None:
            return await self._stage.never()
        if not judging:
            await self._compare(call, request)
        await self._try(call, request, watch)
        self._stage.at_work(call.begun)
        if call.outcome is None:
            await self._stage.cut(call.ended)
        await self._stage.turn(call.ended)
        if isinstance(call.outcome, ModelError):
            raise call.outcome
        assert call.outcome is not None
        return self._with_names(call.outcome)

    def _with_names(self, reply: ModelReply) -> ModelReply:
        """Return the reply with the replay's ids of conversations in its calls."""
        if not self.renamed or not reply.tool_calls:
            return reply
        calls = []
        for call in reply.tool_calls:
            arguments = call.arguments
            for recorded, here in self.renamed.items():
                arguments = arguments.replace(recorded, here)
            calls.append(replace(call, arguments=arguments))
        return replace(reply, tool_calls=tuple(calls))

    async def _compare(self, call: Call, request: ModelRequest) -> None:
        await self._stage.reached(call.begun)
        then = self._recorded.messages(to_messages(viewed(call.view, self._recording.by_seq), self._around))
        if difference := compare_messages(then, self._replayed.messages(request.messages), call.begun):
            self._stage.differ(difference)
            await self._stage.never()

    async def _try(self, call: Call, request: ModelRequest, watch: Watch) -> None:
        """Repeat all tries: each reserves what it may use, if there was a budget, and shows its text."""
        reserved: BudgetReserved | None = None
        for event in call.tries:
            if isinstance(event, BudgetReserved):
                reserved = event
                continue
            await self._begin(reserved, event, request, watch)
            _show(watch, "", event.usage, always=event.draft is not None)
            await self._stage.turn(event.seq)
            names = event.model, event.next_model
            await watch.failed(FailedTry(event.attempt, *names, event.code, event.detail, event.wait))
            reserved = None
        await self._begin(reserved, call.called, request, watch)
        failed = call.called is not None and call.called.error is not None
        _show(watch, call.shown, call.called.usage if failed and call.called is not None else Usage())

    async def _begin(
        self,
        reserved: BudgetReserved | None,
        ended: ModelCallRetried | ModelCalled | None,
        request: ModelRequest,
        watch: Watch,
    ) -> None:
        """Reserve what a try may use, or only note its size, for the estimate of its usage."""
        if reserved is not None:
            await self._stage.turn(reserved.seq)
        elif ended is None or ended.usage == Usage() or (isinstance(ended, ModelCalled) and ended.error is None):
            return
        usage_id = reserved.usage_id if reserved is not None else ended.usage_id if ended is not None else ""
        models = members(request.llm)
        one = next((model for model in models if model.usage_id == usage_id), models[0])
        await watch.begin(replace(request, llm=one), _priced(one, reserved, ended))


def _priced(llm: LLM, reserved: BudgetReserved | None, ended: ModelCallRetried | ModelCalled | None) -> Capabilities:
    """Return the price for a model: from its spec, or else the one by which its tokens cost the logged amount."""
    known = known_of(llm)
    if known.input_cost is not None and known.output_cost is not None:
        return known
    price = 0.0
    if ended is not None and ended.usage.prompt_tokens:
        return replace(known, input_cost=(ended.cost or 0.0) / ended.usage.prompt_tokens, output_cost=0.0)
    if reserved is not None and reserved.tokens:
        price = reserved.cost / reserved.tokens
    return replace(known, input_cost=price, output_cost=price)


def _show(watch: Watch, text: str, usage: Usage, *, always: bool = False) -> None:
    """Show the text that had streamed in, and filler of the same length for the rest, which is not logged."""
    if text:
        watch.show("text", text)
    rest = BYTES_A_TOKEN * usage.completion_tokens - len(text)
    if rest > 0 or (always and not text):
        watch.show("reasoning", "." * max(rest, 1))
