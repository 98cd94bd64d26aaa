"""Budgets and limits of time: a run ends with an event before it goes over one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Limits, State, tool
from agentrt.context.replies import ModelReply
from agentrt.decisions import recovery
from agentrt.errors import ConfigurationError, ModelUnavailable
from agentrt.events import (
    AgentErrorEvent,
    BudgetReserved,
    ConversationErrorEvent,
    Event,
    InterruptEvent,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    RunRequested,
)
from agentrt.llm import RetryingClient
from agentrt.protocols import ModelRequest, Watch
from agentrt.state import fold
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.testing.scripted import Turn
from tests import samples

pytestmark = pytest.mark.real

PRICED = LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=1e-5, max_output_tokens=1000)


@tool
async def look(n: int) -> str:
    """Look."""
    return f"Seen {n}."


@tool
async def wait_forever() -> str:
    """Wait."""
    await anyio.sleep_forever()
    return ""


def looking(request: ModelRequest) -> Turn:
    return call("look", n=len(request.messages))


@asynccontextmanager
async def conversation(
    tmp_path: Path, limits: Limits, client: ScriptedLLM, llm: LLM = PRICED
) -> AsyncIterator[Conversation]:
    agent = Agent(llm=llm, tools=(), limits=limits)
    async with Conversation(agent, tmp_path, tools=[look, wait_forever], store=tmp_path / "s", client=client) as made:
        await made.send_message("go")
        yield made


async def told(made: Conversation) -> list[Event]:
    return [event async for event in made.events()]


def code(state: State) -> str | None:
    return state.error.code if state.error else None


async def test_a_budget_of_money_is_reserved_before_each_call_and_never_exceeded(tmp_path: Path) -> None:
    model = ScriptedLLM(looking)
    async with conversation(tmp_path, Limits(max_cost=0.05), model) as made:
        state = await made.run()
        events = await told(made)
    assert code(state) == "max_cost"
    assert state.error is not None
    assert "conversation.grant()" in state.error.detail
    assert 0.03 < state.ledger.cost <= 0.05
    kinds = [type(event) for event in events]
    for place, kind in enumerate(kinds):
        if kind is BudgetReserved:
            assert kinds[place - 1] is ModelCallStarted
    reserved = [event.cost for event in events if isinstance(event, BudgetReserved)]
    called = [event for event in events if isinstance(event, ModelCalled) and event.error is None]
    assert len(reserved) == len(called) == len(model.requests) >= 3
    assert all(may >= (call.cost or 0) for may, call in zip(reserved, called, strict=True))


async def test_a_grant_lets_it_go_on(tmp_path: Path) -> None:
    turns: list[Turn] = [call("look", n=1), finish("Done.")]
    async with conversation(tmp_path, Limits(max_cost=0.0001), ScriptedLLM(turns)) as made:
        assert code(await made.run()) == "max_cost"
        await made.grant(1.0)
        state = await made.run()
        assert state.status is ExecutionStatus.FINISHED
        assert state.ledger.granted == 1.0


async def test_a_budget_of_tokens(tmp_path: Path) -> None:
    async with conversation(tmp_path, Limits(max_tokens=4000), ScriptedLLM(looking), LLM(model="scripted")) as made:
        state = await made.run()
    assert code(state) == "max_tokens"
    assert 0 < state.ledger.usage.total <= 4000


@pytest.mark.simulated
async def test_a_budget_that_is_used_up_begins_no_call(tmp_path: Path) -> None:
    async with conversation(tmp_path, Limits(max_cost=0.0), ScriptedLLM([])) as made:
        assert code(await made.run()) == "max_cost"
        assert not any(isinstance(event, ModelCallStarted) for event in await told(made))


async def test_a_budget_cannot_be_held_where_nobody_knows_the_price(tmp_path: Path) -> None:
    model = ScriptedLLM([say("never")])
    async with conversation(tmp_path, Limits(max_cost=1.0), model, LLM(model="scripted")) as made:
        state = await made.run()
    assert code(state) == "max_cost"
    assert state.error is not None
    assert "LLM.input_cost_per_token" in state.error.detail
    assert state.ledger.total.calls == 0


async def test_without_a_budget_nothing_is_reserved(tmp_path: Path) -> None:
    async with conversation(tmp_path, Limits(), ScriptedLLM([finish("Done.")])) as made:
        await made.run()
        assert not any(isinstance(event, BudgetReserved) for event in await told(made))


async def test_a_run_that_takes_too_long_is_cut(tmp_path: Path) -> None:
    turns: list[Turn] = [call("wait_forever"), finish("Done.")]
    async with conversation(tmp_path, Limits(max_seconds=0.05), ScriptedLLM(turns)) as made:
        with anyio.fail_after(20):
            events = [event async for event in made.run()]
        assert made.state.status is ExecutionStatus.ERROR
        assert code(made.state) == "max_seconds"
        (cut,) = (event for event in events if isinstance(event, InterruptEvent))
        assert (cut.source, cut.reason) == ("environment", "max_seconds")
        (error,) = (event for event in events if isinstance(event, ConversationErrorEvent))
        assert "raise Limits.max_seconds" in error.detail
        (result,) = (event for event in events if isinstance(event, AgentErrorEvent))
        assert result.error.startswith("Interrupted after")
        assert (await made.run()).status is ExecutionStatus.FINISHED


class Halting(ScriptedLLM):
    """Says half of an answer and then waits, or fails, as often as it is told to."""

    def __init__(self, *turns: Turn, fails: int = 0) -> None:
        super().__init__(turns)
        self._fails = fails
        self.halted = anyio.Event()

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        if self._fails < 0:
            return await super().complete(request, watch)
        await watch.begin(request, self.known(request.one))
        watch.show("text", "Half of an answer")
        if self._fails == 0:
            self.halted.set()
            await anyio.sleep_forever()
        self._fails = self._fails - 1 or -1
        raise ModelUnavailable("cut")


async def test_what_an_interrupted_call_used_counts_by_its_estimate(tmp_path: Path) -> None:
    model = Halting()
    async with conversation(tmp_path, Limits(max_cost=1.0), model) as made:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, made)
            await model.halted.wait()
            await made.interrupt()
        (called,) = (event for event in await told(made) if isinstance(event, ModelCalled))
        assert called.estimated
        assert called.usage.prompt_tokens > 100
        assert called.cost
        assert made.state.ledger.cost == called.cost
        assert not made.state.ledger.reserved


@pytest.mark.simulated
async def test_what_tries_used_that_were_cut_counts_by_its_estimate(tmp_path: Path) -> None:
    client = RetryingClient(Halting(say("Done."), fails=2), no_wait)
    agent = Agent(llm=PRICED, tools=(), limits=Limits(max_cost=1.0))
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=client) as made:
        await made.send_message("go")
        state = await made.run()
        tries = [event for event in await told(made) if isinstance(event, ModelCallRetried)]
    assert state.status is ExecutionStatus.FINISHED
    assert [event.cost is not None and event.cost > 0 for event in tries] == [True, True]
    assert len({event.draft for event in tries}) == 2
    assert state.ledger.total.calls == 3
    assert state.ledger.cost > sum(event.cost or 0 for event in tries)


@pytest.mark.simulated
async def test_a_reservation_that_a_crash_left_open_counts_as_spent() -> None:
    begun = [*samples.beginning(samples.agent()), samples.message(), RunRequested()]
    reserved = BudgetReserved(command="call-1", tokens=900, cost=0.5, usage_id="main")
    state = fold(samples.numbered([*begun, ModelCallStarted(command="call-1"), reserved]))
    closed = fold(samples.numbered(recovery(state), state.seq + 1), start=state)
    assert closed.ledger.spending["main"].cost == 0.5
    assert closed.ledger.usage.total == 900
    assert not closed.ledger.reserved


@pytest.mark.simulated
@pytest.mark.parametrize("amount", [float("nan"), float("inf"), -1.0, 1e300])
async def test_only_an_amount_can_be_granted(tmp_path: Path, amount: float) -> None:
    async with conversation(tmp_path, Limits(), ScriptedLLM([])) as made:
        with pytest.raises(ConfigurationError, match="grant"):
            await made.grant(amount)


async def _run(made: Conversation) -> None:
    await made.run()


async def no_wait(seconds: float) -> None:
    """A sleep that takes no time."""
