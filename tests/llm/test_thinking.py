"""What a model writes between `<think>` and `</think>` is in no answer, title, judgement or streamed text."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Literal

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, Delta, ExecutionStatus, Runtime
from agentrt.context.messages import Message
from agentrt.context.replies import ModelReply
from agentrt.errors import ModelUnavailable
from agentrt.events import ActionEvent, MessageEvent
from agentrt.llm import RetryingClient, ThinkingClient
from agentrt.protocols import FailedTry, ModelClient, ModelRequest, Watch
from agentrt.specs.content import plain, text
from agentrt.testing import ScriptedLLM, call, say

pytestmark = pytest.mark.simulated

MODEL = LLM(model="scripted", num_retries=1)
AGENT = Agent(llm=MODEL, tools=())
REQUEST = ModelRequest(MODEL, (Message("user", text("hi")),), ())


class Shown(Watch):
    """What was shown since the last try that failed, by channel."""

    def __init__(self) -> None:
        self.text = self.reasoning = ""

    def show(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        setattr(self, channel, getattr(self, channel) + piece)

    async def failed(self, failure: FailedTry) -> None:
        self.text = self.reasoning = ""


class Pieces(ModelClient):
    """A model whose answer streams in these pieces, once it was cut in the middle of its reasoning."""

    def __init__(self, *pieces: str, cut: int = 0) -> None:
        self._pieces, self._cut = pieces, cut

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        cut, self._cut = self._cut, 0
        for piece in self._pieces[: cut or None]:
            watch.show("text", piece)
        if cut:
            raise ModelUnavailable("cut")
        return ModelReply(text="".join(self._pieces))


async def drain(conversation: Conversation) -> None:
    """Run it."""
    await conversation.run()


async def no_time(seconds: float) -> None:
    """Sleep no time."""


@pytest.mark.parametrize("cut", [0, 1, 2, 4])
async def test_a_stream_is_shown_on_its_channels_also_when_it_is_tried_again(cut: int) -> None:
    pieces = Pieces("<th", "ink>pl", "an</", "think>", "\n\nAns", "wer.", cut=cut)
    shown = Shown()
    reply = await ThinkingClient(RetryingClient(pieces, no_time)).complete(REQUEST, shown)
    assert (reply.text, reply.reasoning) == ("Answer.", "plan")
    assert (shown.text, shown.reasoning) == ("Answer.", "plan")


async def test_what_was_held_back_at_the_end_is_shown() -> None:
    shown = Shown()
    assert (await ThinkingClient(Pieces("Answer.\n", "<th")).complete(REQUEST, shown)).text == "Answer.\n<th"
    assert shown.text == "Answer.\n<th"


@pytest.mark.parametrize("said", ["<think>the plan</think>\n\nAnswer.", "the plan\n</think>\n\nAnswer."])
async def test_an_answer_a_title_and_a_side_answer_have_none(tmp_path: Path, said: str) -> None:
    client = ScriptedLLM([say(said), say(said), say(said)])
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()
            messages = [e async for e in conversation.events() if isinstance(e, MessageEvent) and e.source == "agent"]
            assert [(plain(e.content), e.reasoning) for e in messages] == [("Answer.", "the plan")]
            assert await conversation.ask_agent("how?") == "Answer."
            assert await conversation.generate_title() == "Answer."
            assert conversation.state.status is ExecutionStatus.FINISHED


async def test_an_action_has_it_as_its_reasoning(tmp_path: Path) -> None:
    calling = call("think", "<think>the plan</think>I think.", thought="hm")
    client = ScriptedLLM([calling, say("Done.")])
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()
            (action,) = [e async for e in conversation.events() if isinstance(e, ActionEvent)]
    assert (action.thought, action.reasoning) == ("I think.", "the plan")


async def test_reasoning_that_never_ends_is_no_answer(tmp_path: Path) -> None:
    client = ScriptedLLM([say("<think>so much to"), say("Answer.")])
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()
            said = [plain(e.content) async for e in conversation.events() if isinstance(e, MessageEvent)]
    assert said[0] == "go"
    assert "Your reply was empty" in said[1]
    assert said[2:] == ["Answer."]


async def test_a_judge_that_thinks_aloud_is_understood(tmp_path: Path) -> None:
    verdict = '{"score": 0.9, "complete": true, "missing": ""}'

    def script(request: ModelRequest) -> ModelReply:
        judges = plain(request.messages[0].content).startswith("You judge")
        return say(f'<think>not {{"score": 0}}, but</think>{verdict}' if judges else "Done.")

    async with Runtime(tmp_path / "s", client=ScriptedLLM(script)) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.set_goal("all of it")
            await conversation.send_message("go")
            await conversation.run()
            goal = conversation.state.ledger.goal
            assert goal is not None
            assert (goal.outcome, goal.score) == ("complete", 0.9)


async def test_deltas_are_on_the_channel_of_reasoning(tmp_path: Path) -> None:
    client = ScriptedLLM([say("<think>the plan</think> Answer.")])
    deltas: list[Delta] = []
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            async with anyio.create_task_group() as tasks, aclosing(conversation.stream(0)) as stream:  # type: ignore[type-var]
                tasks.start_soon(drain, conversation)
                async for item in stream:
                    if isinstance(item, Delta):
                        deltas.append(item)
                    elif isinstance(item, MessageEvent) and item.source == "agent":
                        break
    for channel, said in (("reasoning", "the plan"), ("text", "Answer. ")):
        assert said.startswith("".join(delta.text for delta in deltas if delta.channel == channel))
