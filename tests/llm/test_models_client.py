"""Which client calls a model, and what is loaded for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentrt.errors import MissingKey, UnknownModel
from agentrt.llm import ModelsClient
from agentrt.protocols import Watch
from agentrt.specs import LLM, FallbackLLM
from agentrt.testing import ScriptedProvider, say

from .calling import request

pytestmark = pytest.mark.real

PROGRAM = """
import asyncio, sys
from agentrt.llm import ModelsClient
from agentrt.protocols import Watch
from agentrt.testing import ScriptedProvider, say
from tests.llm.calling import request

async def main():
    client = ModelsClient({})
    async with ScriptedProvider([say("Yes.")]) as provider:
        llm = provider.llm()
        await client.prepare(llm)
        print((await client.complete(request(llm), Watch())).text)
    await client.aclose()
    print([name for name in ("litellm", "openai", "pydantic") if name in sys.modules])

asyncio.run(main())
"""


def test_a_model_that_is_called_directly_needs_no_litellm() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["Yes.", "[]"]


async def test_each_way_gives_the_reply() -> None:
    client = ModelsClient({})
    async with ScriptedProvider(lambda body: say("Yes.")) as provider:
        for way in ("wire", "litellm"):
            llm = provider.llm(client=way)
            await client.prepare(llm)
            assert (await client.complete(request(llm), Watch())).text == "Yes."
            assert client.known(llm).native_tool_calling
    await client.aclose()


@pytest.mark.simulated
async def test_every_member_is_prepared() -> None:
    client = ModelsClient({"OPENAI_API_KEY": "k"})
    await client.prepare(LLM(model="openai/gpt-4o"))
    with pytest.raises(MissingKey, match="set ANTHROPIC_API_KEY"):
        await client.prepare(FallbackLLM((LLM(model="openai/gpt-4o"), LLM(model="claude-opus-4-5"))))
    with pytest.raises(UnknownModel):
        await client.prepare(LLM(model="no-such-model"))
    with pytest.raises(UnknownModel):
        await client.prepare(LLM(model="no-such-model", client="wire"))
    await client.aclose()
