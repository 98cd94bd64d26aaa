"""What a conversation may take of its process: events, bytes, processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime, Tool, tool
from agentrt.errors import LimitReached
from agentrt.protocols import ModelRequest
from agentrt.specs.quota import Quota
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.testing.scripted import Turn

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted"), checkpoints=False)


@tool
async def flood(n: int) -> str:
    """Say much."""
    return "x" * n


def flooding(request: ModelRequest) -> Turn:
    return call("flood", n=1000 + len(request.messages))


@pytest.mark.parametrize(("quota", "code"), [(Quota(events=60), "max_events"), (Quota(bytes=60_000), "max_bytes")])
async def test_a_run_ends_where_there_is_no_more_room(tmp_path: Path, quota: Quota, code: str) -> None:
    model = ScriptedLLM(flooding)
    async with Runtime(tmp_path / "s", client=model, tools=[flood], quota=quota) as runtime:
        agent = Agent(llm=LLM(model="scripted"), tools=(Tool("flood"),), stuck=None, checkpoints=False)
        async with Conversation(agent, tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("go")
            state = await conversation.run()
            assert state.status is ExecutionStatus.ERROR
            assert state.error is not None
            assert state.error.code == code
            assert not state.in_flight
            assert not state.branch.pending
            with pytest.raises(LimitReached) as refused:
                await conversation.send_message("and on")
            assert refused.value.limit == code
            with pytest.raises(LimitReached):
                await conversation.run()
            await conversation.rename("A flood")
            with pytest.raises(LimitReached):
                for _ in range(1000):
                    await conversation.rename("A flood")
            seq = conversation.cursor.seq
            for _ in range(3):
                await conversation.interrupt()
            assert conversation.cursor.seq == seq, "there is nothing to interrupt"
        async with Conversation(Agent(llm=LLM(model="scripted")), tmp_path, runtime=runtime) as other:
            await other.rename("Not touched by that")


@pytest.mark.real
async def test_what_is_kept_beside_the_log_counts_over_a_restart(tmp_path: Path) -> None:
    model = ScriptedLLM(
        [call("terminal", command="head -c 100000 /dev/zero | tr '\\0' x"), finish("Done."), finish("Done.")]
    )
    async with (
        Runtime(tmp_path / "s", client=model) as runtime,
        Conversation(AGENT, tmp_path, runtime=runtime) as first,
    ):
        await first.send_message("go")
        assert (await first.run()).status is ExecutionStatus.FINISHED
    async with Runtime(tmp_path / "s", client=model, quota=Quota(bytes=100_000)) as runtime:
        async with Conversation(id=first.id, runtime=runtime) as again:
            with pytest.raises(LimitReached, match="bytes"):
                await again.send_message("and on")
