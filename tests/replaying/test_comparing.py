"""What differs, and how it is pointed at."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.context.messages import to_messages
from agentrt.events import AgentErrorEvent, Condensation, Event, ModelCalled
from agentrt.replaying.comparing import Difference, Side, compare, compare_messages
from agentrt.usage import Usage
from tests import samples

pytestmark = pytest.mark.pure


def facts(*events: Event, **more: Any) -> dict[str, Any]:
    """The last event's, on a side that knows the others."""
    side = Side({}, **more)
    for event in samples.numbered(events):
        side.note(event)
    return side.facts(samples.numbered(events)[-1], cut=False)


@pytest.mark.parametrize("number", range(len(samples.every_event())))
def test_an_event_is_like_itself_made_again(number: int) -> None:
    """Ids, times and what a call cost are new each time."""
    event = samples.every_event()[number]
    again = replace(event, id="another", timestamp=samples.message().timestamp, caused_by="x", seq=7)
    if isinstance(event, ModelCalled):
        again = replace(again, latency=99.0, cost=1.0, usage=Usage(9), llm_response_id="other")
    assert compare(facts(event), facts(again), 1) is None


def test_ids_are_compared_as_places() -> None:
    one, other = samples.action(id="a"), samples.action(id="b")
    assert compare(facts(one, samples.failure(one)), facts(other, samples.failure(other)), 2) is None
    difference = compare(facts(one, samples.failure(one)), facts(samples.message(), one, samples.failure(one)), 2)
    assert difference == Difference(2, "AgentErrorEvent.action_id", "event 1", "event 2")
    forgot = [Condensation(forgotten_event_ids=(event.id,), summary="s") for event in (one, other)]
    assert compare(facts(one, forgot[0]), facts(other, forgot[1]), 2) is None


def test_another_type_is_shown_whole() -> None:
    difference = compare(facts(samples.message("hello")), facts(samples.action()), 3)
    assert difference is not None
    assert difference.where == "type"
    assert difference.recorded == 'MessageEvent {"content":[{"type":"text","text":"hello"}]}'
    assert difference.replayed.startswith("ActionEvent {")


def test_of_a_long_text_the_first_line_that_differs_is_shown() -> None:
    texts = ["one\ntwo\nthree", "one\nzwei\nthree"]
    first, second = (facts(samples.message(text)) for text in texts)
    assert compare(first, second, 1) == Difference(1, "MessageEvent.content[0].text", "line 2: two", "line 2: zwei")
    longer = compare(first, facts(samples.message("one\ntwo\nthree\nfour")), 1)
    assert longer == Difference(1, "MessageEvent.content[0].text", "line 4: nothing", "line 4: four")
    line = compare(facts(samples.message("a" * 500 + "b" * 500)), facts(samples.message("a" * 500)), 1)
    assert line is not None
    assert (line.recorded, line.replayed) == (f"…{'a' * 60}{'b' * 60}…", f"…{'a' * 60}")


def test_arguments_are_compared_by_value() -> None:
    one = samples.action(id="a")
    spaced = replace(one, arguments_json=msgspec.Raw(b'{ "command" : "ls" }'))
    assert compare(facts(one), facts(spaced), 1) is None
    other = replace(one, arguments_json=msgspec.Raw(b'{"command":"ls -l"}'))
    assert compare(facts(one), facts(other), 1) == Difference(1, "ActionEvent.arguments.command", "ls", "ls -l")


def test_seconds_do_not_count_and_places_are_translated() -> None:
    one = samples.action(id="a")
    slow, fast = (AgentErrorEvent(action_id="a", tool_name="t", tool_call_id="c", error=f"Interrupted after {s} s.")
                  for s in ("12.5", "0.0"))  # fmt: skip
    assert compare(facts(one, slow), facts(one, fast), 2) is None
    here, there = samples.message("in /tmp/scratch"), samples.message("in /work")
    assert compare(facts(there), facts(here, instead={"/tmp/scratch": "/work"}), 1) is None


def test_messages_are_compared_with_their_calls_in_order() -> None:
    one, other = samples.action(id="0-1"), samples.action(id="0-2")
    side = Side({})
    first, second = (side.messages(to_messages([a, samples.observation(a)])) for a in (one, other))
    assert compare_messages(first, second, 4) is None
    shorter = side.messages(to_messages([one]))
    difference = compare_messages(first, shorter, 4)
    assert difference is not None
    assert (difference.where, difference.replayed) == ("messages[1]", "nothing")
