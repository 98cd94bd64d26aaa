"""Budgets over a tree of conversations: granted before, released after, and never exceeded."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from agentrt import LLM, ExecutionStatus, Limits, tool
from agentrt.context.budget import estimated_tokens
from agentrt.context.replies import ModelReply
from agentrt.errors import BudgetExceeded
from agentrt.events import (
    BudgetReserved,
    ChildFinished,
    ChildStarted,
    ConversationErrorEvent,
    ModelCalled,
    ObservationEvent,
)
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.usage import Usage

from .delegating import Family, Gate, Play, agent, check_sums, delegate, family, model, task_of, told
from .proofs.waiting import eventually
from .steering import running

pytestmark = pytest.mark.real

SECONDS = 20.0


def grants(live: Family) -> list[float | None]:
    """What the top granted, in the order in which it did."""
    return [event.grant.cost for event in live.log() if isinstance(event, ChildStarted)]


def endless(request: ModelRequest) -> ModelReply:
    """A tree that never ends by itself: the top delegates again and again, the lowest look again and again."""
    match task_of(request):
        case "all":
            reply = delegate("middle", "middle")
        case "middle":
            reply = delegate("leaf", "leaf")
        case _:
            reply = call("look", n=len(request.messages))
    return replace(reply, usage=Usage(estimated_tokens(request.messages, request.tools), 400))


@tool
async def look(n: int) -> str:
    """Look."""
    return f"Seen {n}."


async def test_a_tree_that_never_ends_stays_within_its_money(tmp_path: Path) -> None:
    limits = Limits(max_cost=1.0, max_steps=10_000, tool_concurrency=2)
    async with family(tmp_path, ScriptedLLM(endless), agent(limits), [look]) as live:
        with anyio.fail_after(60):
            state = await live.top.run()
        assert state.error is not None
        assert state.error.code == "max_cost"
        assert 0.5 < live.spent().cost <= 1.0
        check_sums(live)
        given = [cost for cost in grants(live) if cost is not None]
        assert sum(given[:2]) == pytest.approx(2 / 3 * (1.0 - live_first_call(live)))
        said = [plain(e.content) for e in live.log() if isinstance(e, ObservationEvent)]
        assert any("It failed: " in text and "of the budget is left" in text for text in said)


def live_first_call(live: Family) -> float:
    """What the first call of the top cost."""
    return next(event.cost or 0.0 for event in live.log() if isinstance(event, ModelCalled))


async def test_a_tree_that_never_ends_stays_within_its_tokens(tmp_path: Path) -> None:
    limits = Limits(max_tokens=200_000, tool_concurrency=2)
    async with family(tmp_path, ScriptedLLM(endless), agent(limits), [look]) as live:
        with anyio.fail_after(60):
            state = await live.top.run()
        assert state.error is not None
        assert state.error.code == "max_tokens"
        assert 50_000 < live.spent().usage.total <= 200_000
        check_sums(live)


async def test_a_tree_that_never_ends_stays_within_its_steps(tmp_path: Path) -> None:
    limits = Limits(max_steps=40, tool_concurrency=2)
    async with family(tmp_path, ScriptedLLM(endless), agent(limits), [look]) as live:
        with anyio.fail_after(60):
            state = await live.top.run()
        assert state.error is not None
        assert state.error.code == "max_steps"
        assert 20 < sum(isinstance(e, ModelCalled) for log in live.all() for e in log) <= 40
        check_sums(live)


async def test_what_a_child_did_not_use_is_there_for_the_next(tmp_path: Path) -> None:
    plays: dict[str, Play] = {
        "all": (delegate("one"), delegate("two"), finish("Done.")),
        "one": (finish("One."),),
        "two": (finish("Two."),),
    }
    async with family(tmp_path, plays, agent(Limits(max_cost=1.0))) as live:
        assert (await live.top.run()).status is ExecutionStatus.FINISHED
        first, second = grants(live)
        assert first is not None
        assert second is not None
        assert 0.45 < first < 0.5
        assert 0.45 < second < first
        for log in live.all():
            assert any(isinstance(event, BudgetReserved) for event in log)
        check_sums(live)


async def test_nothing_is_sent_of_a_tree_whose_price_nobody_knows(tmp_path: Path) -> None:
    client = model({"all": (finish("Never."),)})
    spec = agent(Limits(max_cost=1.0), llm=LLM(model="unpriced"))
    async with family(tmp_path, client, spec) as live:
        state = await live.top.run()
        assert state.error is not None
        assert state.error.code == "max_cost"
        assert "LLM.input_cost_per_token and output_cost_per_token" in state.error.detail
        assert client.requests == []


async def test_time_ends_the_whole_tree(tmp_path: Path) -> None:
    gate = Gate()
    plays: dict[str, Play] = {
        "all": (delegate("one", "two"), finish("Done.")),
        "one": (delegate("a"), finish("One.")),
        "two": (call("hold", name="two"), finish("Two.")),
        "a": (call("hold", name="a"), finish("A.")),
    }
    async with family(tmp_path, plays, agent(Limits(max_seconds=1.0, tool_concurrency=2)), [gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            state = await live.top.run()
        assert state.error is not None
        assert state.error.code == "max_seconds"
        assert not state.in_flight
        assert sorted(gate.entered) == ["a", "two"]
        check_sums(live)
        ended = [event for event in live.log() if isinstance(event, ChildFinished)]
        assert len(ended) == 2


async def test_an_interrupt_counts_what_was_in_flight_below(tmp_path: Path) -> None:
    """The call of a child that is cut is billed by its estimate, and that reaches the top."""
    held = anyio.Event()

    class Held(ScriptedLLM):
        async def complete(self, request, watch):  # type: ignore[no-untyped-def]
            if task_of(request) == "a":
                await watch.begin(request, self.known(request.one))
                watch.show("text", "I was")
                held.set()
                await anyio.sleep_forever()
            return await super().complete(request, watch)

    plays: dict[str, Play] = {"all": (delegate("a"), finish("Done."))}
    client = Held(lambda request: plays["all"][min(len(told(request)), 1)])  # type: ignore[arg-type,return-value]
    async with family(tmp_path, client, agent(Limits(max_cost=1.0))) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held.wait()
                await live.top.interrupt()
        await eventually(lambda: not live.state.in_flight, "the end of what was cut")
        (child,) = live.state.ledger.children.values()
        cut = [e for e in live.log(live.id_of("a")) if isinstance(e, ModelCalled)]
        assert cut[0].cost
        assert not child.open
        check_sums(live)
        assert not any(isinstance(event, ConversationErrorEvent) for event in live.log())


@pytest.mark.simulated
async def test_side_questions_do_not_reserve_the_same_money(tmp_path: Path) -> None:
    """Several at once: what the first reserves is gone for the others, though nobody has seen it yet."""
    client = ScriptedLLM(lambda request: ModelReply(text="It is so.", usage=Usage(500, 900)))
    refused: list[str] = []
    async with family(tmp_path, client, agent(Limits(max_cost=0.013))) as live:

        async def ask() -> None:
            try:
                await live.top.ask_agent("Is it so?")
            except BudgetExceeded as error:
                refused.append(error.code)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask)
        assert refused == ["max_cost"] * 4
        assert live.state.ledger.cost <= 0.013
