"""What litellm's data says of real models, and what that decides."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentrt.llm import LiteLLMClient
from agentrt.specs import LLM, Capabilities

pytestmark = pytest.mark.simulated

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "DEEPSEEK_API_KEY": "k", "OLLAMA_API_KEY": "k"}


async def known(client: LiteLLMClient, llm: LLM) -> Capabilities:
    await client.prepare(llm)
    return client.known(llm)


@pytest.mark.parametrize(
    ("llm", "responses"),
    [
        (LLM(model="openai/gpt-5-codex"), True),
        (LLM(model="openai/gpt-5.5"), True),
        (LLM(model="openai/gpt-4o"), False),
        (LLM(model="openai/gpt-5.5", api="chat"), False),
        (LLM(model="openai/gpt-4o", api="responses"), True),
        (LLM(model="openai/gpt-5.5", base_url="http://127.0.0.1:1/v1"), False),
        (LLM(model="anthropic/claude-opus-4-5"), False),
        (LLM(model="openai/unheard-of", base_url="http://127.0.0.1:1/v1"), False),
        (LLM(model="openai/unheard-of", base_url="http://127.0.0.1:1/v1", api="responses"), True),
    ],
)
async def test_the_interface_follows_the_model_unless_it_is_named(
    client: LiteLLMClient, llm: LLM, responses: bool
) -> None:
    assert (await known(client, llm)).responses is responses


@pytest.mark.parametrize(
    ("llm", "native"),
    [
        (LLM(model="openai/gpt-4o"), True),
        (LLM(model="deepseek/deepseek-reasoner"), False),
        (LLM(model="deepseek/deepseek-reasoner", native_tool_calling=True), True),
        (LLM(model="openai/gpt-4o", native_tool_calling=False), False),
        (LLM(model="openai/unheard-of", base_url="http://127.0.0.1:1/v1"), True),
    ],
)
async def test_tools_are_native_where_the_model_has_them_or_nobody_knows(
    client: LiteLLMClient, llm: LLM, native: bool
) -> None:
    assert (await known(client, llm)).native_tool_calling is native


async def test_what_is_known_of_a_model(client: LiteLLMClient) -> None:
    opus = await known(client, LLM(model="anthropic/claude-opus-4-5"))
    assert opus.cache_marks
    assert opus.vision
    assert opus.max_input_tokens == 200_000
    assert opus.input_cost is not None
    assert opus.cache_read_cost is not None
    assert opus.cache_read_cost < opus.input_cost
    assert not (await known(client, LLM(model="openai/gpt-4o"))).cache_marks
    assert not (await known(client, LLM(model="openai/gpt-3.5-turbo"))).vision


async def test_what_a_spec_says_comes_first(client: LiteLLMClient) -> None:
    said = LLM(
        model="anthropic/claude-opus-4-5",
        vision=False,
        max_input_tokens=1000,
        input_cost_per_token=1.0,
        output_cost_per_token=2.0,
    )
    found = await known(client, said)
    assert (found.vision, found.max_input_tokens, found.input_cost, found.output_cost) == (False, 1000, 1.0, 2.0)
    assert found.cache_read_cost is None, "a price of one's own is for all tokens"


@pytest.mark.long
def test_litellm_is_loaded_off_the_loop_and_without_network() -> None:
    script = """
import asyncio, socket, sys, threading
from agentrt.llm import LiteLLMClient
from agentrt.specs import LLM

asked, importers = [], []
socket.getaddrinfo = lambda *given, **more: asked.append(given[0])

class Note:
    def find_spec(self, name, path=None, target=None):
        if name == "litellm":
            importers.append(threading.current_thread() is threading.main_thread())

async def main():
    client = LiteLLMClient({"OPENAI_API_KEY": "k"})
    await client.prepare(LLM(model="openai/gpt-4o"))
    await client.aclose()

assert "litellm" not in sys.modules
sys.meta_path.insert(0, Note())
asyncio.run(main())
assert importers[:1] == [False], importers
assert asked == [], asked
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


async def test_a_model_that_we_told_litellm_of_stays_one_that_nobody_knows(client: LiteLLMClient) -> None:
    llm = LLM(model="openai/unheard-of-too", api="responses")
    first = await known(client, llm)
    again, other = LiteLLMClient(KEYS), LLM(model="openai/unheard-of-too", api="chat")
    assert await known(again, llm) == first
    assert await known(again, other) == Capabilities()
    assert (first.input_cost, first.output_cost, first.reasoning) == (None, None, False)
    await again.aclose()


@pytest.mark.parametrize(("model", "priced"), [("openai/gpt-4o", True), ("dashscope/qwen-plus-latest", False)])
async def test_a_price_that_the_map_does_not_have_is_not_nothing(model: str, priced: bool) -> None:
    client = LiteLLMClient(KEYS | {"DASHSCOPE_API_KEY": "k"})
    found = await known(client, LLM(model=model))
    assert [found.input_cost is not None, found.output_cost is not None] == [priced, priced]
    await client.aclose()
