"""Calls wait their turn: how many at once, how many a minute, and whose is next."""

from __future__ import annotations

import asyncio

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.budget import BYTES_A_TOKEN, TOKENS_A_MESSAGE
from agentrt.context.messages import Message
from agentrt.context.replies import ModelReply
from agentrt.errors import ModelError, ModelUnavailable
from agentrt.llm.limits import LimitedClient, ProviderLimits
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import LLM, AnyLLM, Capabilities
from agentrt.specs.content import text
from agentrt.specs.llm import known_of
from agentrt.usage import Usage
from tests.clock import Time, settle

pytestmark = pytest.mark.simulated


def request(conversation: str = "a", model: str = "openai/gpt", prompt: int = 0, name: str = "") -> ModelRequest:
    """One that is estimated at so many tokens, and at `TOKENS_A_MESSAGE` at least."""
    said = "x" * (BYTES_A_TOKEN * (prompt - TOKENS_A_MESSAGE))
    return ModelRequest(LLM(model=model, usage_id=name), [Message("user", text(said))], (), conversation)


class Model:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.answers: dict[str, asyncio.Future[ModelReply]] = {}
        self.most = 0

    async def prepare(self, llm: AnyLLM) -> None:
        pass

    def known(self, llm: LLM) -> Capabilities:
        return known_of(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        name = request.one.usage_id
        self.begun.append(name)
        self.answers[name] = asyncio.get_running_loop().create_future()
        self.most = max(self.most, len(self.answers))
        try:
            return await self.answers[name]
        finally:
            del self.answers[name]

    async def answer(self, name: str, tokens: int = 0) -> None:
        """End a call, and let others begin."""
        self.answers[name].set_result(ModelReply(text="Yes.", usage=Usage(prompt_tokens=tokens)))
        await settle()


class Calls:
    """Calls under way, by name: "a1" is one of conversation "a"."""

    def __init__(self, limits: ProviderLimits | dict[str, ProviderLimits]) -> None:
        self.model, self.time = Model(), Time()
        given = {"*": limits} if isinstance(limits, ProviderLimits) else limits
        self.client = LimitedClient(self.model, given, clock=self.time.clock, later=self.time.later)
        self.tasks: dict[str, asyncio.Task[ModelReply]] = {}

    def begin(self, name: str, model: str = "openai/gpt", prompt: int = 0) -> None:
        asked = request(name[0], model, prompt, name)
        self.tasks[name] = asyncio.get_running_loop().create_task(self.client.complete(asked, Watch()))

    async def settled(self, *names: str, prompt: int = 0) -> list[str]:
        """Begin calls; all that have reached the model."""
        for name in names:
            self.begin(name, prompt=prompt)
        await settle()
        return self.model.begun

    async def stop(self, name: str) -> None:
        """Cancel a call, and see it end."""
        self.tasks[name].cancel()
        await asyncio.wait([self.tasks[name]])
        await settle()


async def test_only_so_many_are_in_flight() -> None:
    calls = Calls(ProviderLimits(calls=2))
    assert await calls.settled("a1", "a2", "a3", "a4") == ["a1", "a2"]
    await calls.model.answer("a2")
    assert calls.model.begun == ["a1", "a2", "a3"]
    assert (await calls.tasks["a2"]).text == "Yes."
    assert calls.time.set == 0


async def test_conversations_are_served_in_turn() -> None:
    calls = Calls(ProviderLimits(calls=1))
    await calls.settled("a1", "a2", "a3", "a4", "b1", "c1", "b2")
    for name in ("a1", "a2", "b1", "c1", "a3", "b2", "a4"):
        await calls.model.answer(name)
    assert calls.model.begun == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]


async def test_a_failed_call_makes_place() -> None:
    calls = Calls(ProviderLimits(calls=1))
    await calls.settled("a1", "a2")
    calls.model.answers["a1"].set_exception(ModelUnavailable("gone"))
    await settle()
    assert calls.model.begun == ["a1", "a2"]
    with pytest.raises(ModelError, match="gone"):
        await calls.tasks["a1"]


async def test_requests_are_spread_over_the_minute() -> None:
    calls = Calls(ProviderLimits(requests_per_minute=2))
    assert len(await calls.settled("a1", "a2", "a3", "a4")) == 2
    await calls.time.pass_by(29)
    assert len(calls.model.begun) == 2
    await calls.time.pass_by(1)
    assert len(calls.model.begun) == 3
    await calls.time.pass_by(30)
    assert len(calls.model.begun) == 4
    assert calls.time.set == 2
    assert not calls.time.agenda


@pytest.mark.parametrize("per_minute", [3, 7, 11, 13, 17, 90])
async def test_each_request_is_waited_for_once(per_minute: int) -> None:
    """The time until it may begin is rounded, and enough all the same."""
    calls = Calls(ProviderLimits(requests_per_minute=per_minute))
    await calls.settled(*(f"a{number}" for number in range(per_minute + 20)))
    await calls.time.pass_by(20 * 60 / per_minute + 1e-3)
    assert len(calls.model.begun) == per_minute + 20
    assert calls.time.set == 20


async def test_tokens_are_taken_by_estimate_and_booked_as_used() -> None:
    calls = Calls(ProviderLimits(tokens_per_minute=60))
    await calls.settled("a1", prompt=30)
    await calls.model.answer("a1", tokens=60)  # 30 were estimated
    assert await calls.settled("a2", prompt=30) == ["a1"]
    await calls.time.pass_by(29)
    assert calls.model.begun == ["a1"]
    await calls.time.pass_by(1)
    assert calls.model.begun == ["a1", "a2"]


async def test_tokens_that_were_not_used_are_there_again() -> None:
    calls = Calls(ProviderLimits(tokens_per_minute=60))
    await calls.settled("a1", prompt=60)
    assert await calls.settled("a2", prompt=30) == ["a1"]
    await calls.model.answer("a1", tokens=30)
    assert calls.model.begun == ["a1", "a2"]
    assert not calls.time.agenda


async def test_a_prompt_of_more_than_a_minutes_tokens_passes_when_nothing_was_used() -> None:
    calls = Calls(ProviderLimits(tokens_per_minute=60))
    await calls.settled("a1")
    assert await calls.settled("a2", prompt=180) == ["a1"]
    await calls.time.pass_by(TOKENS_A_MESSAGE)
    assert await calls.settled("a3") == ["a1", "a2"]  # which owes 120 tokens
    await calls.time.pass_by(119 + TOKENS_A_MESSAGE)
    assert calls.model.begun == ["a1", "a2"]
    await calls.time.pass_by(1)
    assert calls.model.begun == ["a1", "a2", "a3"]


async def test_a_cancelled_waiter_leaves_the_line() -> None:
    calls = Calls(ProviderLimits(calls=1))
    await calls.settled("a1", "a2", "b1")
    await calls.stop("a2")
    await calls.model.answer("a1")
    assert calls.model.begun == ["a1", "b1"]


async def test_cancelled_just_after_its_turn_had_come_it_gives_all_back() -> None:
    calls = Calls(ProviderLimits(calls=1, requests_per_minute=2, tokens_per_minute=60))
    await calls.settled("a1", "a2", "b1", prompt=20)
    calls.model.answers["a1"].set_result(ModelReply())
    while calls.model.answers:
        await asyncio.sleep(0)
    calls.tasks["a2"].cancel()  # it is granted, and has not seen it yet
    await settle()
    assert calls.tasks["a2"].cancelled()
    assert calls.model.begun == ["a1", "b1"]


async def test_cancelled_just_before_its_turn_comes_it_is_passed_over() -> None:
    calls = Calls(ProviderLimits(calls=1))
    await calls.settled("a1", "a2", "a3")
    calls.model.answers["a1"].set_result(ModelReply())
    calls.tasks["a2"].cancel()  # both are noticed in the next round of the loop
    await settle()
    assert calls.tasks["a1"].result()
    assert calls.model.begun == ["a1", "a3"]


async def test_one_that_is_given_up_in_line_leaves_it() -> None:
    calls = Calls(ProviderLimits(calls=1))
    await calls.settled("a1")
    waiting = calls.client.complete(request(name="a2"), Watch())
    waiting.send(None)
    waiting.close()  # as at the end of a program: it is not cancelled
    await calls.settled("a3", "a4")
    await calls.model.answer("a1")
    assert calls.model.begun == ["a1", "a3"]


async def test_without_a_waiter_there_is_no_timer() -> None:
    calls = Calls(ProviderLimits(requests_per_minute=1))
    await calls.settled("a1", "a2")
    assert len(calls.time.agenda) == 1
    await calls.stop("a2")
    assert not calls.time.agenda


async def test_a_provider_has_its_own_limits_and_each_other_one_those_of_all_others() -> None:
    one = ProviderLimits(calls=1)
    calls = Calls({"openai": ProviderLimits(calls=2), "*": one})
    for number, model in enumerate(["openai/x", "openai/y", "openai/x", "groq/x", "groq/y", "mistral/x", "plain"]):
        calls.begin(f"a{number}", model)
    await settle()
    assert calls.model.begun == ["a0", "a1", "a3", "a5", "a6"]


async def test_what_has_no_limits_passes() -> None:
    calls = Calls({"openai": ProviderLimits(calls=1)})
    for number in range(9):
        calls.begin(f"a{number}", "groq/x")
    await settle()
    assert len(calls.model.begun) == 9


async def test_the_real_timer_serves() -> None:
    model = Model()
    client = LimitedClient(model, {"*": ProviderLimits(requests_per_minute=60_000_000)})
    async with anyio.create_task_group() as tasks:
        for name in ("a1", "a2"):
            tasks.start_soon(client.complete, request(name=name), Watch())
        await settle()
        await model.answer("a1")
        await model.answer("a2")


@pytest.mark.pure
def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="calls must be at least 1, not 0; None is no limit"):
        ProviderLimits(calls=0)
    with pytest.raises(msgspec.ValidationError, match="requests_per_minute"):
        msgspec.json.decode(b'{"requests_per_minute": -1}', type=ProviderLimits)


STEPS = st.lists(st.tuples(st.sampled_from(["begin", "begin", "answer", "stop"]), st.integers(0, 99)), max_size=60)


@given(STEPS, st.integers(1, 3))
def test_no_conversation_is_served_twice_while_another_one_waits(steps: list[tuple[str, int]], most: int) -> None:
    async def check() -> None:
        calls, waiting, served_since = Calls(ProviderLimits(calls=most)), [], dict[str, set[str]]()
        seen = 0
        for number, (step, which) in enumerate(steps):
            if step == "begin":
                name = f"{'abc'[which % 3]}{number}"
                waiting.append(name)
                served_since.setdefault(name[0], set())
                await calls.settled(name)
            elif step == "answer" and calls.model.answers:
                await calls.model.answer(sorted(calls.model.answers)[which % len(calls.model.answers)])
            elif step == "stop" and waiting:
                name = waiting.pop(which % len(waiting))
                await calls.stop(name)
            for name in calls.model.begun[seen:]:
                assert name == next(one for one in waiting if one[0] == name[0]), "in order within a conversation"
                waiting.remove(name)
                served_since.pop(name[0], None)
                for other in {one[0] for one in waiting}:
                    since = served_since.setdefault(other, set())
                    assert name[0] == other or name[0] not in since
                    since.add(name[0])
            seen = len(calls.model.begun)
            served_since = {other: served_since.get(other, set()) for other in {one[0] for one in waiting}}
            assert len(calls.model.answers) == min(most, len(calls.model.answers) + len(waiting))
        for task in calls.tasks.values():
            task.cancel()

    anyio.run(check)


RUSH = st.lists(
    st.tuples(st.sampled_from(["begin", "begin", "answer", "stop", "time"]), st.integers(0, 99), st.integers(0, 3)),
    max_size=60,
)


@given(RUSH, st.integers(1, 3))
def test_nothing_is_lost_whenever_calls_are_cancelled(steps: list[tuple[str, int, int]], most: int) -> None:
    async def check() -> None:
        calls = Calls(ProviderLimits(calls=most, requests_per_minute=6))
        stopped = set[str]()
        for number, (step, which, ticks) in enumerate(steps):
            open_ = [future for future in calls.model.answers.values() if not future.done()]
            if step == "begin":
                calls.begin(f"{'abc'[which % 3]}{number}")
            elif step == "answer" and open_:
                open_[which % len(open_)].set_result(ModelReply())
            elif step == "stop" and calls.tasks:
                name = list(calls.tasks)[which % len(calls.tasks)]
                if calls.tasks[name].cancel():
                    stopped.add(name)
            elif step == "time":
                await calls.time.pass_by(which / 10)
            for _ in range(ticks):
                await asyncio.sleep(0)
        await settle()
        while not all(task.done() for task in calls.tasks.values()):
            for name in list(calls.model.answers):
                await calls.model.answer(name)
            await calls.time.pass_by(10)
        assert calls.model.most <= most
        assert set(calls.tasks) - stopped <= set(calls.model.begun)
        assert all(calls.tasks[name].result() for name in set(calls.tasks) - stopped)
        assert not calls.time.agenda

        await calls.time.pass_by(60)
        begun = len(calls.model.begun)
        await calls.settled(*(f"z{number}" for number in range(most + 1)))
        assert len(calls.model.begun) - begun == most, "every place is free again"
        for task in calls.tasks.values():
            task.cancel()

    anyio.run(check)
