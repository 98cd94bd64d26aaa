"""Every way in which a provider fails, on each wire, streamed and not: one error of its kind, with one request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentrt import Agent, Conversation, ExecutionStatus, Runtime
from agentrt.errors import (
    AuthenticationFailed,
    BadModelRequest,
    ContentRefused,
    ContextWindowExceeded,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
)
from agentrt.events import ModelCallRetried
from agentrt.llm import LiteLLMClient
from agentrt.protocols import Watch
from agentrt.testing import (
    Broken,
    Cut,
    Fault,
    ScriptedProvider,
    Stall,
    WireName,
    bad_key,
    content_policy,
    context_window,
    finish,
    out_of_credit,
    overloaded,
    rate_limit,
)
from agentrt.testing.turns import Turn

from .calling import WIRES, llm, request

pytestmark = pytest.mark.real

FAULTS: dict[str, tuple[Callable[[WireName], Turn], type[ModelError]]] = {
    "context window": (context_window, ContextWindowExceeded),
    "content policy": (content_policy, ContentRefused),
    "rate limit": (lambda wire: rate_limit(wire, 7.5), RateLimited),
    "overloaded": (overloaded, ModelUnavailable),
    "key": (bad_key, AuthenticationFailed),
    "server error": (lambda wire: Fault(500, "The server had an error."), ModelUnavailable),
    "bad gateway": (lambda wire: Broken(html=True), ModelUnavailable),
    "request timeout": (lambda wire: Fault(408, "Request timed out."), ModelTimeout),
    "malformed": (lambda wire: Fault(400, "Unknown parameter: 'x'."), BadModelRequest),
    "no such model": (lambda wire: Fault(404, "The model does not exist."), BadModelRequest),
    "cut": (lambda wire: Cut("Half of an"), ModelUnavailable),
    "broken": (lambda wire: Broken("Half of an"), ModelUnavailable),
    "stalled": (lambda wire: Stall("Half of an"), ModelTimeout),
    "overloaded after all": (lambda wire: overloaded(wire, after="Half of an"), ModelUnavailable),
}


@pytest.mark.parametrize("stream", [True, pytest.param(False, marks=pytest.mark.long)], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", FAULTS)
async def test_each_failure_is_an_error_of_its_kind(
    client: LiteLLMClient, fault: str, wire: WireName, stream: bool
) -> None:
    turn, kind = FAULTS[fault]
    async with ScriptedProvider(lambda body: turn(wire)) as provider:
        with pytest.raises(ModelError) as raised:
            await client.complete(
                request(llm(provider, wire, stream=stream, timeout=0.5 if fault == "stalled" else 60.0)), Watch()
            )
        assert (type(raised.value), len(provider.requests)) == (kind, 1), raised.value
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500
    if fault == "rate limit":
        assert raised.value.retry_after == 7.5


@pytest.mark.parametrize("wire", WIRES)
async def test_credit_that_is_used_up_does_not_come_back_by_waiting(client: LiteLLMClient, wire: WireName) -> None:
    async with ScriptedProvider(lambda body: out_of_credit(wire)) as provider:
        with pytest.raises(ModelError) as raised:
            await client.complete(request(llm(provider, wire)), Watch())
    assert not raised.value.retryable, raised.value


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refused_key_says_what_to_set(client: LiteLLMClient, wire: WireName) -> None:
    mine = LiteLLMClient({"MY_KEY": "sk-0123456789"})
    async with ScriptedProvider(lambda body: bad_key(wire)) as provider:
        with pytest.raises(AuthenticationFailed, match="MY_KEY") as raised:
            await mine.complete(request(llm(provider, wire, api_key_env="MY_KEY")), Watch())
    assert "sk-0123456789" not in str(raised.value)
    await mine.aclose()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "Wed, 21 Oct 2026 07:28:00 GMT"])
async def test_a_wait_that_nobody_can_wait_is_none(client: LiteLLMClient, wire: WireName, seconds: str) -> None:
    async with ScriptedProvider(lambda body: Fault(429, headers={"Retry-After": seconds})) as provider:
        with pytest.raises(RateLimited) as raised:
            await client.complete(request(llm(provider, wire)), Watch())
    assert raised.value.retry_after is None


KEY = "own-0123456789"
LEAKS: dict[str, Turn] = {
    "refused": Fault(401, f"Incorrect API key provided: {KEY}."),
    "cut in the middle of the key": Fault(401, "x" * 120 + KEY * 20),
    "in a stream": Fault(500, f"No worker for {KEY}.", after="Half of an"),
}


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_that_repeats_the_key_is_told_without_it(wire: WireName, leak: str) -> None:
    mine = LiteLLMClient({"MY_KEY": KEY})
    async with ScriptedProvider(lambda body: LEAKS[leak]) as provider:
        with pytest.raises(ModelError, match="<secret-hidden>") as raised:
            await mine.complete(request(llm(provider, wire, api_key_env="MY_KEY")), Watch())
    await mine.aclose()
    assert KEY[:9] not in str(raised.value)
    assert len(str(raised.value)) < 500
    assert raised.value.__cause__ is None, "it has the key"


@pytest.mark.parametrize("wire", WIRES)
async def test_no_event_has_a_key_that_an_error_repeats(tmp_path: Path, wire: WireName) -> None:
    turns: list[Turn] = [Fault(500, f"No worker for {KEY}."), finish("Done."), LEAKS["refused"]]
    async with ScriptedProvider(lambda body: turns.pop(0)) as provider:
        model = llm(provider, wire, api_key_env="MY_KEY", num_retries=1, retry_min_wait=0.01, retry_max_wait=0.01)
        async with Runtime(tmp_path / "s", environment={"MY_KEY": KEY}) as runtime:
            async with Conversation(Agent(llm=model, tools=()), tmp_path, runtime=runtime) as conversation:
                await conversation.send_message("go")
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
                await conversation.send_message("on")
                assert (await conversation.run()).status is ExecutionStatus.ERROR
                events = [event async for event in conversation.events()]
    (retried,) = (event for event in events if isinstance(event, ModelCallRetried))
    assert "<secret-hidden>" in retried.detail
    for path in (tmp_path / "s").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
