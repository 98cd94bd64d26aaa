"""Events as text."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agentrt.cli.story import FOLDED, Story, clean, headline, summary
from agentrt.events import ConversationErrorEvent, Event, ExecutionStarted, RiskAssessed
from agentrt.specs import SecurityRisk
from agentrt.state import fold
from tests import samples


def told(*events: Event, folded: bool = True) -> list[str]:
    story = Story(folded=folded)
    return [line.plain for event in events for line in story.tell(event)]


def test_an_action_is_told_with_its_risk_and_its_result() -> None:
    act = replace(samples.action(), thought="I look.")
    lines = told(
        samples.message("Go."),
        act,
        RiskAssessed(action_id=act.id, risk=SecurityRisk.LOW),
        ExecutionStarted(action_id=act.id, command="x"),
        samples.observation(act, "a\nb"),
    )
    assert lines == ["› Go.", "I look.", "● terminal  $ ls  low", "  │ a", "  │ b"]


def test_a_long_result_is_folded() -> None:
    act = samples.action()
    long = samples.observation(act, "\n".join(map(str, range(100))))
    lines = told(act, long)[1:]
    assert lines == ["  │ 0", "  │ 1", "  │ 2", "  │ … 94 more lines", "  │ 97", "  │ 98", "  │ 99"]
    assert len(lines) == FOLDED + 1
    assert len(told(act, long, folded=False)) == 101


def test_a_change_is_shown_as_a_diff() -> None:
    act = replace(
        samples.action("file_editor"), arguments=msgspec.Raw(b'{"command":"str_replace","path":"/work/a.py"}')
    )
    seen = replace(
        samples.observation(act), details=msgspec.Raw(b'{"diff":"--- a\\n+++ b\\n@@ -1 +1 @@\\n-x\\n+y\\n"}')
    )
    assert told(act, seen) == ["● file_editor  str_replace /work/a.py", "  │ @@ -1 +1 @@", "  │ -x", "  │ +y"]


def test_what_was_streamed_is_not_told_again() -> None:
    story = Story()
    answer = samples.answer("Hello.")
    story.said.add(answer.id)
    assert list(story.tell(answer)) == []


def test_control_characters_never_reach_the_terminal() -> None:
    assert clean("a\x1b[31mred\x07\r\x9b2J\tb\nc") == "a[31mred2J\tb\nc"
    act = samples.action()
    assert not any("\x1b" in line for line in told(act, samples.observation(act, "\x1b]0;owned\x07text")))


def test_errors_and_endings_are_said() -> None:
    assert told(ConversationErrorEvent(code="timeout", detail="try again")) == ["✗ timeout: try again"]
    state = fold(samples.numbered(samples.beginning()))
    assert summary(state, 1.25).plain == "idle  ·  0 model calls  ·  0 tokens in, 0 out  ·  $0.0000  ·  1.2 s"


def test_a_headline_of_odd_arguments_is_their_json() -> None:
    odd = replace(samples.action("file_editor"), arguments=msgspec.Raw(b'{"x":1}'))
    assert headline(odd) == '{"x":1}'
    long = replace(samples.action("custom"), arguments=msgspec.Raw(b'{"x":"' + b"y" * 300 + b'"}'))
    assert len(headline(long)) == 161


def test_every_sample_can_be_told() -> None:
    assert len(told(*samples.numbered(samples.every_event()))) > 15
