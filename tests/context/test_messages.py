"""From the view to messages."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given

from agentrt.chain import Chain
from agentrt.context.messages import CUT, Message, Transcript, call_id, to_messages
from agentrt.events import CondensationSummaryEvent, Event, ModelVisible, ResourceLost, UserRejectObservation
from agentrt.specs.content import plain
from agentrt.state import Seen, State, apply, as_seen
from tests import samples
from tests.histories import histories

pytestmark = pytest.mark.pure


def test_the_calls_of_one_reply_are_one_message() -> None:
    one, two, other = samples.action("look", "r1"), samples.action("look", "r1"), samples.action("look", "r2")
    view = [one, two, samples.observation(two), samples.observation(one), other, samples.observation(other)]
    messages = to_messages(view)
    assert [(m.role, len(m.tool_calls)) for m in messages] == [
        ("assistant", 2),
        ("tool", 0),
        ("tool", 0),
        ("assistant", 1),
        ("tool", 0),
    ]
    assert messages[1].tool_call_id == messages[0].tool_calls[1].id == call_id(two.id)


def test_ids_on_the_wire_are_ours_and_short() -> None:
    one, two = samples.action(), samples.action()
    assert one.tool_call_id == two.tool_call_id, "providers repeat theirs"
    assert call_id(one.id) != call_id(two.id)
    assert len(call_id(one.id)) == 32


def test_each_kind_of_result_reads_as_one() -> None:
    act = samples.action()
    rejected = UserRejectObservation(action_id=act.id, tool_name="x", tool_call_id="y", rejection_reason="No.")
    said = [plain(to_messages([event])[0].content) for event in (samples.failure(act, "broke"), rejected)]
    assert said == ["Error: broke", "This action was rejected: No."]
    (lost,) = to_messages([ResourceLost(tool_name="terminal", detail="The shell is gone.")])
    assert (lost.role, plain(lost.content)) == ("user", "[The shell is gone.]")


def test_partial_text_says_that_it_was_cut() -> None:
    """In a user's message: a history that ends with the model's own words is refused by some providers."""
    said, cut = to_messages([samples.answer("Half of", partial=True)])
    assert (said.role, plain(said.content)) == ("assistant", "Half of")
    assert (cut.role, plain(cut.content)) == ("user", CUT)


@given(histories())
def test_a_transcript_that_grows_is_the_whole_made_at_once(events: list[Event]) -> None:
    """At each model call the cached messages are those of the view, and every call has its result."""
    transcript, state = Transcript(), State()
    for event in events:
        state = apply(state, event)
        if state.branch.call is None or type(event).__name__ != "ModelCallStarted":
            continue
        view = state.branch.view
        messages = transcript.of(view, samples.look_up(transcript.missing(view), events))
        assert list(messages) == to_messages(samples.look_up(view, events))
        asked = [call.id for message in messages for call in message.tool_calls]
        answered = [message.tool_call_id for message in messages if message.role == "tool"]
        assert sorted(asked) == sorted(str(a) for a in answered)


def test_whatever_the_model_sees_has_a_message() -> None:
    summary = CondensationSummaryEvent(summary="It looked.")
    shown = [event for event in (*samples.every_event(), summary) if isinstance(event, ModelVisible)]
    assert {type(event) for event in shown} == set(get_args(ModelVisible))
    for event in shown:
        assert to_messages([event]), f"the model never sees a {type(event).__name__}"
        assert as_seen(event).type == type(event).__name__


def test_a_longer_conversation_begins_with_the_shorter_one() -> None:
    """What caches prompts needs: a stable prefix."""
    transcript, view = Transcript(), Chain[Seen]()
    before: list[Message] = []
    for n in range(20):
        act = samples.action("look", f"r{n}")
        fresh = (act, samples.observation(act))
        for event in fresh:
            view = view.append(as_seen(event))
        messages = transcript.of(view, fresh)
        assert messages[: len(before)] == before
        before = list(messages)
