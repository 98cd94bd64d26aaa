"""From a reply to events."""

from __future__ import annotations

import pytest

from agentrt.context.messages import ToolCall
from agentrt.context.replies import ModelReply, reply_events
from agentrt.events import ActionEvent, AgentErrorEvent, MessageEvent
from agentrt.specs.content import plain
from agentrt.testing import calls, say
from tests import samples

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
    assert bytes(second.arguments) == b'{"command":"ls"}'


def test_errors_come_after_all_actions_of_the_batch() -> None:
    events = reply_events(calls(("dance", {}), ("look", {})), TOOLS, "m1", "c1")
    assert [type(event).__name__ for event in events] == ["ActionEvent", "ActionEvent", "AgentErrorEvent"]
    error = events[-1]
    assert isinstance(error, AgentErrorEvent)
    assert error.action_id == "m1"
    assert error.error == "there is no tool 'dance'. The tools are: look, terminal."


@pytest.mark.parametrize(
    ("given_", "said"),
    [('{"a": ', "not valid JSON"), ("[1]", "not list"), ("null", "not NoneType"), ('"x"', "not str")],
)
def test_arguments_that_are_no_object_are_kept_and_explained(given_: str, said: str) -> None:
    reply = ModelReply(tool_calls=(ToolCall("1", "look", given_),))
    action, error = reply_events(reply, TOOLS, "m1", "c1")
    assert isinstance(action, ActionEvent)
    assert isinstance(error, AgentErrorEvent)
    assert (bytes(action.arguments), action.malformed) == (b"{}", given_)
    assert said in error.error


def test_no_arguments_are_an_empty_object() -> None:
    (action,) = reply_events(ModelReply(tool_calls=(ToolCall("1", "look", ""),)), TOOLS, "m1", "c1")
    assert isinstance(action, ActionEvent)
    assert bytes(action.arguments) == b"{}"


@pytest.mark.parametrize("words", ["", "  \n"])
def test_an_empty_reply_is_nudged(words: str) -> None:
    (nudge,) = reply_events(say(words), TOOLS, "m1", "c1")
    assert isinstance(nudge, MessageEvent)
    assert nudge.source == "environment"
