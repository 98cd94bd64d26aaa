"""Routers and fallbacks are models as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime
from agentrt.context.messages import Message
from agentrt.errors import AuthenticationFailed, ConfigurationError, ContextWindowExceeded, ModelError, ModelUnavailable
from agentrt.events import ModelCalled, ModelCallRetried
from agentrt.llm import RoutedClient
from agentrt.protocols import FailedTry, ModelRequest, Watch
from agentrt.specs import FallbackLLM, ImageContent, RouterLLM, TextContent
from agentrt.specs.content import text
from agentrt.testing import ScriptedLLM, say
from agentrt.testing.scripted import Turn

pytestmark = pytest.mark.simulated

A, B, C = (LLM(model=name, usage_id=name) for name in "abc")


def request(llm: LLM | FallbackLLM | RouterLLM) -> ModelRequest:
    return ModelRequest(llm, (Message("user", text("hi")),), ())


class Seen(Watch):
    """Keeps the tries that failed."""

    def __init__(self) -> None:
        self.tries: list[FailedTry] = []

    async def failed(self, failure: FailedTry) -> None:
        self.tries.append(failure)


def failing(**errors: ModelError) -> ScriptedLLM:
    """A model that fails under some of its names."""

    def turn(request: ModelRequest) -> Turn:
        return errors.get(request.one.model) or say(f"I am {request.one.model}.")

    return ScriptedLLM(turn)


async def test_the_next_one_answers_when_one_has_failed() -> None:
    seen = Seen()
    client = RoutedClient(failing(a=ModelUnavailable("down"), b=AuthenticationFailed("no key")))
    reply = await client.complete(request(FallbackLLM((A, B, C))), seen)
    assert reply.text == "I am c."
    assert [(t.model, t.next_model, t.code) for t in seen.tries] == [
        ("a", "b", "unavailable"),
        ("b", "c", "authentication"),
    ]


async def test_the_last_failure_counts() -> None:
    client = RoutedClient(failing(a=ModelUnavailable("down"), b=AuthenticationFailed("no key")))
    with pytest.raises(AuthenticationFailed, match="no key"):
        await client.complete(request(FallbackLLM((A, B))), Watch())


async def test_what_is_too_long_is_condensed_and_not_tried_elsewhere() -> None:
    client = RoutedClient(failing(a=ContextWindowExceeded("long")))
    with pytest.raises(ContextWindowExceeded):
        await client.complete(request(FallbackLLM((A, B))), Watch())


async def test_a_router_of_fallbacks() -> None:
    nested = RouterLLM(llms={"primary": A, "secondary": FallbackLLM((B, C))})
    client = RoutedClient(failing(b=ModelUnavailable("down")))
    assert (await client.complete(request(nested), Watch())).text == "I am c."


async def test_a_rule_is_known_before_the_first_call() -> None:
    client = RoutedClient(failing(), {"mine": lambda messages: "b"})
    mine = RouterLLM(llms={"a": A, "b": B}, rule="mine")
    await client.prepare(mine)
    assert (await client.complete(request(mine), Watch())).text == "I am b."
    with pytest.raises(ConfigurationError, match="unknown router rule 'yours'"):
        await client.prepare(RouterLLM(llms={"a": A}, rule="yours"))


@pytest.mark.real
async def test_a_conversation_by_a_router_is_reopened_from_its_log(tmp_path: Path) -> None:
    router = RouterLLM(llms={"primary": FallbackLLM((A, C)), "secondary": B})
    client = failing(a=ModelUnavailable("down"))
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with Conversation(Agent(llm=router), tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("go")
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
            name = conversation.id
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with Conversation(id=name, runtime=runtime) as conversation:
            assert conversation.state.spec.llm == router
            await conversation.send_message([TextContent("see"), ImageContent("https://e.org/a.png")])
            await conversation.run()
            events = [event async for event in conversation.events()]
            spending = conversation.state.ledger.spending
    assert [(e.model, e.next_model) for e in events if isinstance(e, ModelCallRetried)] == [("a", "c")]
    assert sum(isinstance(e, ModelCalled) for e in events) == 2
    assert {name: spent.calls for name, spent in spending.items()} == {"b": 1, "c": 1}
