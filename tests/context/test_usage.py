"""What fills a model's context window."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import Conversation, NoOpCondenser, Runtime
from agentrt.context.usage import context_usage
from agentrt.storage import MemoryStorage
from agentrt.testing import ScriptedLLM, say
from tests.condensing import agent, look, looking

pytestmark = pytest.mark.simulated


async def test_it_is_told_by_kind_and_the_parts_are_the_whole(tmp_path: Path) -> None:
    async with Runtime(MemoryStorage(), client=looking(14)) as runtime:
        async with Conversation(agent(), tmp_path, tools=[look], runtime=runtime) as conversation:
            assert (await conversation.context_usage()).parts[0].kind == "system prompt"
            await conversation.send_message("Look at all places.")
            await conversation.run()
            used = await conversation.context_usage()
            kinds = [(part.kind, part.name) for part in used.parts]
            assert kinds[:5] == [("system prompt", ""), ("context", ""), ("tools", ""), ("summary", ""), ("user", "")]
            assert {("calls", "look"), ("results", "look"), ("calls", "finish")} <= {*kinds}
            assert abs(sum(part.tokens for part in used.parts) - used.tokens) <= len(used.parts)
            assert used.events == len(conversation.state.branch.view)
            assert (used.max_events, used.max_tokens, used.window) == (20, None, 0)
            awake = used
            assert await conversation.rest()
            assert await conversation.context_usage() == awake, "read from the log while it sleeps"


async def test_what_waits_for_the_next_call_is_counted_too(tmp_path: Path) -> None:
    async with Runtime(MemoryStorage(), client=ScriptedLLM([say("hi")])) as runtime:
        async with Conversation(agent(NoOpCondenser()), tmp_path, runtime=runtime) as conversation:
            before = context_usage(conversation.state)
            await conversation.send_message("x" * 4000)
            after = context_usage(conversation.state)
            assert after.tokens - before.tokens >= 1000
            assert (after.max_events, after.max_tokens) == (None, None)
