"""From a reply to events."""

from __future__ import annotations

import pytest

from agentrt.codec import encode
from agentrt.context.messages import ToolCall
from agentrt.context.repair import CUT
from agentrt.context.replies import CUT_SHORT, NUDGE, ModelReply, reply_events
from agentrt.events import (
    ActionEvent,
    AgentErrorEvent,
    Event,
    ExecutionStatus,
    MessageEvent,
    ModelCalled,
    ModelCallStarted,
    RunRequested,
)
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.testing import calls, say
from tests import samples

pytestmark = pytest.mark.pure

TOOLS = samples.AnyTool()


def test_words_are_a_message_with_the_id_that_its_deltas_named() -> None:
    (message,) = reply_events(say("Hello."), TOOLS, "m1", "c1")
    assert isinstance(message, MessageEvent)
    assert (message.id, message.source, message.caused_by, plain(message.content)) == ("m1", "agent", "c1", "Hello.")


def test_only_the_first_of_a_batch_carries_the_thought() -> None:
    reply = calls(("look", {}), ("terminal", {"command": "ls"}), thought="I look.")
    first, second = reply_events(reply, TOOLS, "m1", "c1")
    assert isinstance(first, ActionEvent)
    assert isinstance(second, ActionEvent)
    assert (first.id, first.thought, second.thought) == ("m1", "I look.", "")
    assert first.llm_response_id == second.llm_response_id == reply.response_id
    assert bytes(second.arguments_json) == b'{"command":"ls"}'


def test_errors_come_after_all_actions_of_the_batch() -> None:
    events = reply_events(calls(("dance", {}), ("look", {})), TOOLS, "m1", "c1")
    assert [type(event).__name__ for event in events] == ["ActionEvent", "ActionEvent", "AgentErrorEvent"]
    error = events[-1]
    assert isinstance(error, AgentErrorEvent)
    assert error.action_id == "m1"
    assert error.error == "unknown tool 'dance'. The tools are: look, terminal."


@pytest.mark.parametrize(
    ("given_", "said"),
    [('{"a": ', "not valid JSON"), ("[1]", "not list"), ("null", "not NoneType"), ('"x"', "not str")],
)
def test_arguments_that_are_no_object_are_kept_and_explained(given_: str, said: str) -> None:
    reply = ModelReply(tool_calls=(ToolCall("1", "look", given_),))
    action, error = reply_events(reply, TOOLS, "m1", "c1")
    assert isinstance(action, ActionEvent)
    assert isinstance(error, AgentErrorEvent)
    assert (bytes(action.arguments_json), action.malformed) == (b"{}", given_)
    assert said in error.error


def test_no_arguments_are_an_empty_object() -> None:
    (action,) = reply_events(ModelReply(tool_calls=(ToolCall("1", "look", ""),)), TOOLS, "m1", "c1")
    assert isinstance(action, ActionEvent)
    assert bytes(action.arguments_json) == b"{}"


@pytest.mark.parametrize("words", ["", "  \n"])
def test_an_empty_reply_is_nudged(words: str) -> None:
    (nudge,) = reply_events(say(words), TOOLS, "m1", "c1")
    assert isinstance(nudge, MessageEvent)
    assert nudge.source == "environment"


def say_of(event: Event) -> tuple[str, str]:
    assert isinstance(event, MessageEvent)
    return event.source, plain(event.content)


def test_a_complaint_comes_before_the_words_and_keeps_the_run_going() -> None:
    reply = ModelReply(text="<function=>", complaint="No name.")
    events = reply_events(reply, TOOLS, "m1", "c1")
    assert [say_of(event) for event in events] == [("environment", "No name."), ("agent", "<function=>")]
    assert (events[1].id, events[0].caused_by) == ("m1", "c1")
    begun = [*samples.beginning(), samples.message(), RunRequested(), ModelCallStarted(command="call-1")]
    called = ModelCalled(command="call-1", model="m")
    state = fold(samples.numbered([*begun, called, *events]))
    assert state.status is ExecutionStatus.RUNNING
    after = fold(samples.numbered([ModelCallStarted(command="call-2")], state.seq + 1), state)
    assert [seen.id for seen in after.branch.view[-2:]] == ["m1", events[0].id], "the model reads it after its words"


def test_calls_run_although_another_one_could_not_be_read() -> None:
    reply = ModelReply(tool_calls=(ToolCall("1", "look", "{}"),), complaint="The second has no name.")
    told, action = reply_events(reply, TOOLS, "m1", "c1")
    assert say_of(told) == ("environment", "The second has no name.")
    assert isinstance(action, ActionEvent)
    assert action.id == "m1"


def test_an_answer_that_was_cut_does_not_end_the_run() -> None:
    told, message = reply_events(ModelReply(text="I will wr", finish_reason="length"), TOOLS, "m1", "c1")
    assert say_of(told) == ("environment", CUT_SHORT)
    assert say_of(message) == ("agent", "I will wr")
    (told,) = reply_events(ModelReply(reasoning="Hm, hm", finish_reason="length"), TOOLS, "m1", "c1")
    assert say_of(told) == ("environment", CUT_SHORT)
    told, message = reply_events(ModelReply(text="x", complaint="Mine.", finish_reason="length"), TOOLS, "m1", "c1")
    assert say_of(told) == ("environment", "Mine.")


def test_thinking_alone_is_nudged() -> None:
    (nudge,) = reply_events(ModelReply(reasoning="I could call look."), TOOLS, "m1", "c1")
    assert say_of(nudge) == ("environment", NUDGE)


def test_only_the_last_call_of_a_reply_can_have_been_cut() -> None:
    wanted = tuple(ToolCall(str(n), "look", '{"a": "half') for n in range(2))
    *actions, first, last = reply_events(ModelReply(tool_calls=wanted, finish_reason="length"), TOOLS, "m1", "c1")
    assert isinstance(first, AgentErrorEvent)
    assert isinstance(last, AgentErrorEvent)
    assert "not valid JSON" in first.error
    assert last.error == CUT
    assert [action.malformed for action in actions if isinstance(action, ActionEvent)] == ['{"a": "half'] * 2
    (whole,) = reply_events(
        ModelReply(tool_calls=(ToolCall("1", "look", "{}"),), finish_reason="length"), TOOLS, "", ""
    )
    assert isinstance(whole, ActionEvent)


def test_the_log_keeps_what_the_model_sent() -> None:
    (action,) = reply_events(ModelReply(tool_calls=(ToolCall("1", "Bash", '{"command": "a\nb",}'),)), TOOLS, "m1", "c1")
    assert isinstance(action, ActionEvent)
    assert (action.tool_name, bytes(action.arguments_json)) == ("terminal", b'{"command":"a\\nb"}')
    assert (action.asked_as, action.malformed) == ("Bash", '{"command": "a\nb",}')
    (action,) = reply_events(ModelReply(tool_calls=(ToolCall("1", "look", '{ "a" : 1 }'),)), TOOLS, "m1", "c1")
    assert isinstance(action, ActionEvent)
    assert (action.asked_as, action.malformed) == (None, None)


def test_an_unknown_tool_that_is_near_one_is_named() -> None:
    _, error = reply_events(calls(("terminl", {})), TOOLS, "m1", "c1")
    assert isinstance(error, AgentErrorEvent)
    assert error.error == "unknown tool 'terminl'. The tools are: look, terminal. Did you mean terminal?"


def test_whatever_a_model_says_can_be_stored() -> None:
    half = "a\ud83d"
    call = ToolCall("1", half, f'{{"a": "{half}')
    for reply in (ModelReply(text=half, reasoning=half, complaint=half), ModelReply(text=half, tool_calls=(call,))):
        for event in reply_events(reply, TOOLS, "m1", "c1"):
            assert encode(event)
