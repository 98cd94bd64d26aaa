"""Calls that are tried again."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime
from agentrt.context.messages import Message
from agentrt.errors import AuthenticationFailed, ModelError, ModelTimeout, ModelUnavailable, RateLimited
from agentrt.events import ConversationErrorEvent, Event, ModelCalled, ModelCallRetried
from agentrt.llm import RetryingClient
from agentrt.protocols import FailedTry, ModelRequest, Watch
from agentrt.specs.content import text
from agentrt.testing import ScriptedLLM, say

pytestmark = pytest.mark.simulated

MODEL = LLM(model="scripted", num_retries=3, retry_min_wait=1.0, retry_max_wait=8.0)
REQUEST = ModelRequest(MODEL, (Message("user", text("hi")),), ())


class Seen(Watch):
    """Keeps the tries that failed."""

    def __init__(self) -> None:
        self.tries: list[FailedTry] = []

    async def failed(self, failure: FailedTry) -> None:
        self.tries.append(failure)


class Slept:
    """A sleep that takes no time and notes how long it was to be."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_what_may_pass_is_tried_again_and_each_try_is_told() -> None:
    model = ScriptedLLM([ModelUnavailable("busy"), ModelTimeout("slow"), say("There.")])
    sleep, seen = Slept(), Seen()
    reply = await RetryingClient(model, sleep).complete(REQUEST, seen)
    assert reply.text == "There."
    assert [(t.attempt, t.model, t.next_model, t.code) for t in seen.tries] == [
        (1, "scripted", "scripted", "unavailable"),
        (2, "scripted", "scripted", "timeout"),
    ]
    assert [t.wait for t in seen.tries] == sleep.waits
    assert all(0 <= wait <= 8 for wait in sleep.waits)


async def test_a_provider_says_when_to_come_back_but_not_beyond_the_longest_wait() -> None:
    model = ScriptedLLM([RateLimited("wait", retry_after=2.5), RateLimited("wait", retry_after=900.0), say("never")])
    sleep = Slept()
    with pytest.raises(RateLimited, match=r"asks to wait 900 s, and LLM\.retry_max_wait is 8 s"):
        await RetryingClient(model, sleep).complete(REQUEST, Watch())
    assert sleep.waits == [2.5]


async def test_what_cannot_pass_is_not_tried_again() -> None:
    model = ScriptedLLM([AuthenticationFailed("no key"), say("never")])
    with pytest.raises(AuthenticationFailed):
        await RetryingClient(model, Slept()).complete(REQUEST, Watch())
    assert len(model.requests) == 1


async def test_the_last_failure_is_raised_once_the_tries_are_used_up() -> None:
    errors: list[ModelError] = [ModelUnavailable(f"busy {n}") for n in range(9)]
    model, seen = ScriptedLLM(errors), Seen()
    with pytest.raises(ModelUnavailable, match="busy 3"):
        await RetryingClient(model, Slept()).complete(REQUEST, seen)
    assert (len(model.requests), len(seen.tries)) == (4, 3)


class Halting(ScriptedLLM):
    """Says half an answer at its first call, and then fails."""

    async def complete(self, request: ModelRequest, watch: Watch):  # type: ignore[no-untyped-def]
        if not self.requests:
            watch.show("text", "Half of")
        return await super().complete(request, watch)


@pytest.mark.real
async def test_every_try_is_an_event_and_what_it_showed_is_void(tmp_path: Path) -> None:
    model = Halting([ModelUnavailable("cut"), say("A whole answer.")])
    async with Runtime(tmp_path / "s", client=RetryingClient(model, Slept())) as runtime:
        async with Conversation(Agent(llm=MODEL), tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("go")
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
            events = [event async for event in conversation.events()]
    (retried,) = (event for event in events if isinstance(event, ModelCallRetried))
    assert (retried.command, retried.attempt, retried.code, retried.detail) == ("call-1", 1, "unavailable", "cut")
    assert retried.draft is not None
    assert retried.draft not in {event.id for event in events}
    (called,) = (event for event in events if isinstance(event, ModelCalled))
    assert called.error is None
    assert called.time_to_first_token is not None


@pytest.mark.real
async def test_an_interrupt_ends_a_wait_at_once(tmp_path: Path) -> None:
    waiting = anyio.Event()

    async def long(seconds: float) -> None:
        waiting.set()
        await anyio.sleep_forever()

    model = ScriptedLLM([RateLimited("wait", retry_after=6.0), say("Later.")])
    async with Runtime(tmp_path / "s", client=RetryingClient(model, long)) as runtime:
        async with Conversation(Agent(llm=MODEL), tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("go")
            events: list[Event] = []

            async def follow() -> None:
                events.extend([event async for event in conversation.run()])

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow)
                with anyio.fail_after(20):
                    await waiting.wait()
                with anyio.fail_after(30):
                    await conversation.interrupt("enough")
            assert conversation.state.status is ExecutionStatus.PAUSED
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
    assert [event.error for event in events if isinstance(event, ModelCalled)] == ["interrupted"]
    assert not any(isinstance(event, ConversationErrorEvent) for event in events)


@pytest.mark.parametrize("tries", [1, 3, 50])
async def test_a_wait_is_between_its_bounds_and_not_always_the_same(tries: int) -> None:
    sleep = Slept()
    model = LLM(model="scripted", num_retries=tries, retry_min_wait=2.0, retry_max_wait=8.0)
    for _ in range(20):
        client = RetryingClient(ScriptedLLM([*(ModelUnavailable("busy") for _ in range(tries)), say("There.")]), sleep)
        await client.complete(ModelRequest(model, REQUEST.messages, ()), Watch())
    assert all(2.0 <= wait <= 8.0 for wait in sleep.waits)
    assert len(set(sleep.waits)) > 10
