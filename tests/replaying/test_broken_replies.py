"""Conversations whose model got its calls wrong, recorded and replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentrt import LLM, Agent, Conversation, Limits, tool
from agentrt.context.messages import ToolCall
from agentrt.context.prompted import parse
from agentrt.context.replies import ModelReply
from agentrt.errors import ModelUnavailable
from agentrt.events import ActionEvent, AgentErrorEvent, BudgetReserved, Event, MessageEvent, ModelCallRetried
from agentrt.protocols import FailedTry, ModelRequest, Watch
from agentrt.replaying import replay
from agentrt.replaying.recording import Recording
from agentrt.specs import AnyLLM, Capabilities, Thinking
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.tools import BUILT_IN

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=())


@tool
async def greet(name: str, times: int = 1) -> str:
    """Greet someone."""
    return f"Hello, {name}!" * times


class Stumbling:
    """A model that fails once before each of its answers, after it has reserved what it may use."""

    def __init__(self, script: ScriptedLLM) -> None:
        self._script = script

    async def prepare(self, llm: AnyLLM) -> None:
        """Nothing to load."""

    def known(self, llm: LLM) -> Capabilities:
        return self._script.known(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        await watch.begin(request, self.known(request.one))
        watch.show("text", "The first tr")
        await watch.failed(FailedTry(1, "scripted", "other", "overloaded", "later", 0.5))
        return await self._script.complete(request, watch)


async def recorded(place: Path, client: Any, agent: Agent = AGENT) -> list[Event]:
    async with Conversation(agent, place, id="c", tools=[greet], store=place / "store", client=client) as conversation:
        await conversation.send_message("Greet Ada.")
        await conversation.run()
    return read_conversation(place / "store" / "conversations" / "c")


async def same(events: list[Event]) -> None:
    """With the tool's implementation, and from the log alone."""
    for tools in ([greet], []):
        done = await replay(events, tools)
        assert done.difference is None, done.difference
        assert done.events == len(events)


def sent(name: str, arguments: str, **more: Any) -> ModelReply:
    return ModelReply(tool_calls=(ToolCall("1", name, arguments),), **more)


BROKEN = {
    "repaired": sent("Greet", '{"name": "Ada\tL.", "times": "2",}'),
    "in a fence": sent("functions.greet", '```json\n{"name": "Ada"}\n```'),
    "repaired, and refused": sent("greet", '{"nme": "Ada",}'),
    "repaired to nothing, and refused": sent("greet", "```\n{}\n```"),
    "unreadable": sent("greet", '{"name": "Ada'),
    "cut": sent("greet", '{"name": "Ada', finish_reason="length"),
    "cut before it began": sent("greet", "", finish_reason="length"),
    "unknown": sent("gret", '{"name":"Ada"}'),
    "cut words": ModelReply(text="I will", finish_reason="length"),
    "cut thoughts": ModelReply(reasoning="I will", finish_reason="length"),
    "nothing": ModelReply(),
    "a complaint": ModelReply(text="<function=>", complaint="It has no name."),
    "a complaint without words": ModelReply(complaint="It has no name."),
    "a complaint and a call": sent("greet", '{"name":"Ada"}', text="I greet.", complaint="The second has no name."),
    "a complaint and a repaired call": sent("greet", '{"name": "Ada",}', complaint="The second has no name."),
}


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
async def test_a_broken_reply_is_replayed(tmp_path: Path, reply: ModelReply) -> None:
    events = await recorded(tmp_path, ScriptedLLM([reply, finish("Done.")]))
    await same(events)
    recording = Recording(events)
    again = recording.calls[0].outcome
    assert isinstance(again, ModelReply)
    assert (again.text, again.tool_calls) == (reply.text, reply.tool_calls), "as the model sent it"
    told = [event for event in events if isinstance(event, MessageEvent) and event.source == "environment"]
    assert not any(recording.from_outside(event) for event in told)


async def test_calls_in_text_are_replayed(tmp_path: Path) -> None:
    definitions = (greet.definition, *(kind.definition for kind in BUILT_IN.values()))

    def spoken(text: str) -> ModelReply:
        parsed = parse(text, definitions)
        return ModelReply(text=parsed.thought, tool_calls=parsed.calls, complaint=parsed.complaint)

    good = "<function=greet>\n<parameter=name>Ada</parameter>\n<parameter=times>2</parameter>\n</function>"
    bad = "<function=greet>\n<parameter=nme>Ada</parameter>\n</function>"
    events = await recorded(tmp_path, ScriptedLLM([spoken(text) for text in (bad, good, good + bad, "Done.")]))
    assert sum(isinstance(event, ActionEvent) for event in events) == 2
    assert not any(isinstance(event, AgentErrorEvent) for event in events)
    await same(events)


async def test_thinking_is_replayed(tmp_path: Path) -> None:
    thinking = Thinking("scripted", msgspec.Raw(b'[{"type":"thinking","thinking":"Hm."}]'))
    first = replace(call("greet", name="Ada"), thinking=thinking, reasoning="Hm.")
    events = await recorded(tmp_path, ScriptedLLM([first, replace(say("Done."), thinking=thinking)]))
    assert [getattr(event, "thinking", None) for event in events].count(thinking) == 2
    await same(events)


async def test_tries_and_reservations_are_replayed(tmp_path: Path) -> None:
    llm = LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=1e-6)
    agent = replace(AGENT, llm=llm, limits=Limits(max_cost=100.0, max_tokens=10_000_000))
    script = ScriptedLLM([call("greet", name="Ada"), finish("Done.")])
    events = await recorded(tmp_path, Stumbling(script), agent)
    assert sum(isinstance(event, ModelCallRetried) for event in events) == 2
    assert sum(isinstance(event, BudgetReserved) for event in events) == 4
    await same(events)


async def test_words_before_a_failure_are_replayed(tmp_path: Path) -> None:
    class Failing(Stumbling):
        async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
            watch.show("text", "The first half")
            raise ModelUnavailable("later")

    events = await recorded(tmp_path, Failing(ScriptedLLM([])))
    assert any(isinstance(event, MessageEvent) and event.partial for event in events)
    await same(events)
