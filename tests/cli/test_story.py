"""Events as text."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from agentrt.cli.story import FOLDED, MARGIN, Story, summary, with_margin
from agentrt.events import (
    ActionRevised,
    AgentErrorEvent,
    BudgetGranted,
    ChangedDuring,
    ChildAction,
    ChildFinished,
    ChildStarted,
    ChildWaiting,
    Condensation,
    ConfirmationGiven,
    ConfirmationRequested,
    ConversationErrorEvent,
    CriticAssessed,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    FilesRestored,
    GoalSet,
    HookExecutionEvent,
    HookRun,
    InterruptEvent,
    MessageEvent,
    ModelCallRetried,
    RiskAssessed,
    RuleAdded,
    RuleRemoved,
    RunEnded,
    SecretsChanged,
    StuckDetected,
    TagsChanged,
    TitleChanged,
    UserRejectObservation,
)
from agentrt.specs import HookEvent, PermissionRule, SecurityRisk
from agentrt.specs.content import text
from agentrt.specs.secrets import SavedStatic
from agentrt.state import fold
from tests import samples

pytestmark = pytest.mark.pure


def told(*events: Event, folded: bool = True) -> list[str]:
    story = Story(folded=folded)
    story.use(map(samples.definition, ("terminal", "file_editor", "think", "finish")))
    return [line.plain for event in events for line in story.tell(event)]


def test_an_event_in_words_is_its_lines() -> None:
    act = replace(samples.action(), thought="I look.")
    assert str(act) == "I look.\n● terminal  $ ls"
    assert str(replace(samples.action(), tool_name="own")) == '● own  {"command":"ls"}'
    assert str(RunEnded(status=ExecutionStatus.FINISHED, reason="answered")) == "finished"
    assert str(samples.message("Go.")) == "› Go."
    assert str(samples.observation(act, "a\nb")) == "  │ a\n  │ b"
    assert str(ConversationErrorEvent(code="limit", detail="too many steps")) == "✗ limit: too many steps"
    assert str(ExecutionStarted(seq=7, action_id="a", command="c")) == "7 ExecutionStarted"


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
        samples.action("file_editor"), arguments_json=msgspec.Raw(b'{"command":"str_replace","path":"/work/a.py"}')
    )
    seen = replace(
        samples.observation(act), details_json=msgspec.Raw(b'{"diff":"--- a\\n+++ b\\n@@ -1 +1 @@\\n-x\\n+y\\n"}')
    )
    assert told(act, seen) == ["● file_editor  str_replace /work/a.py", "  │ @@ -1 +1 @@", "  │ -x", "  │ +y"]


def test_what_was_streamed_is_not_told_again() -> None:
    story = Story()
    answer = samples.answer("Hello.")
    story.said.add(answer.id)
    assert list(story.tell(answer)) == []


def test_control_characters_never_reach_the_terminal() -> None:
    act = samples.action()
    assert not any("\x1b" in line for line in told(act, samples.observation(act, "\x1b]0;owned\x07text")))


def test_errors_and_endings_are_said() -> None:
    assert told(ConversationErrorEvent(code="timeout", detail="try again")) == ["✗ timeout: try again"]
    state = fold(samples.numbered(samples.beginning()))
    assert summary(state, 1.25).plain == "idle  ·  0 model calls  ·  0 tokens in, 0 out  ·  $0.0000  ·  1.2 s"


def test_the_runtime_s_own_words_are_said_to_be_its_own() -> None:
    nudge = MessageEvent(source="environment", content=text("You repeat yourself."))
    assert told(nudge) == ["↪ agentrt told the model: You repeat yourself."]


def test_arguments_that_do_not_fit_are_told_as_they_were_sent() -> None:
    action = replace(samples.action("terminal"), arguments_json=msgspec.Raw(b'{"command":"ls","timeout":"soon"}'))
    error = AgentErrorEvent(
        action_id=action.id,
        tool_name="terminal",
        tool_call_id="x",
        error="the arguments of terminal do not fit: timeout",
    )
    assert told(action, error)[0] == '● terminal  {"command":"ls","timeout":"soon"}'


def test_a_hook_is_told_when_it_did_something() -> None:
    act = samples.action()
    revised = ActionRevised(action_id=act.id, arguments_json=msgspec.Raw(b'{"command":"ls -l"}'))
    before, after = HookEvent.BEFORE_TOOL, HookEvent.AFTER_TOOL
    assert told(act, HookExecutionEvent(hook_event=before, target=act.id)) == []
    assert told(act, revised, ExecutionStarted(action_id=act.id, command="x")) == [
        "↪ a hook rewrote  $ ls",
        "● terminal  $ ls -l",
    ]
    asks = HookExecutionEvent(hook_event=before, target=act.id, verdict="ask", reason="on Friday", by="./check")
    assert told(asks) == ["↪ hook ./check asks you: on Friday"]
    failed = HookRun(hook="./look", error="it took longer than 1 s")
    assert told(HookExecutionEvent(hook_event=after, runs=(failed,))) == [
        "↪ hook ./look failed: it took longer than 1 s"
    ]
    stop = HookExecutionEvent(hook_event=HookEvent.STOP, verdict="deny", reason="no tests", by="./end")
    assert told(stop) == ["↪ hook ./end does not let it end: no tests"]
    assert told(MessageEvent(source="hook", content=text("Mind the gap."))) == ["↪ Mind the gap."]


def test_what_a_hook_denied_is_told_once() -> None:
    act = samples.action()
    denied = HookExecutionEvent(
        hook_event=HookEvent.BEFORE_TOOL, target=act.id, verdict="deny", reason="no pushing", by="./check"
    )
    refused = UserRejectObservation(
        source="hook",
        action_id=act.id,
        tool_name="terminal",
        tool_call_id="call_1",
        rejection_reason="no pushing",
        caused_by=denied.id,
    )
    assert told(act, denied, refused) == ["● terminal  $ ls", "↪ hook ./check denied it: no pushing"]
    assert told(act, replace(refused, caused_by=None))[-1] == "  │ rejected: no pushing"


def test_goals_critics_and_repetition() -> None:
    judged = CriticAssessed(critic="goal", score=0.5, success=False, message="the tests")
    assert told(GoalSet(objective="it works"), judged, replace(judged, score=1.0, success=True, message="")) == [
        "◎ goal: it works",
        "◎ goal not reached, 0.50 of 1: the tests",
        "◎ goal reached, 1.00 of 1",
    ]
    assert told(GoalSet(objective="")) == ["◎ the goal was taken back"]
    assert told(replace(judged, critic="neat")) == ["◎ not good enough, 0.50 of 1, says critic neat: the tests"]
    midway = CriticAssessed(critic="neat", score=0.75, success=True, midway=True)
    assert told(midway, replace(midway, success=False, error="OSError: gone")) == [
        "◎ so far good enough, 0.75 of 1, says critic neat",
        "◎ critic neat failed: OSError: gone",
    ]
    stuck = StuckDetected(pattern="monologue", detail="messages came without any action, 3 times in a row")
    assert told(replace(stuck, nudge=True), stuck) == [
        "! it repeats itself: messages came without any action, 3 times in a row",
        "✗ stopped, since it repeats itself: messages came without any action, 3 times in a row",
    ]


def test_delegated_conversations_have_names() -> None:
    started = ChildStarted(child_id="d", task="look")
    asks = ChildWaiting(child_id="e", actions=(ChildAction("b", "terminal", "{}"),))
    ended = ChildFinished(child_id="d", status=ExecutionStatus.FINISHED, cost=0.25, steps=1)
    assert told(started, replace(started, child_id="e", agent="scout"), asks, replace(asks, actions=()), ended) == [
        "  ▸ child 1  d",
        "  ▸ scout 2  e",
        "  ▸ scout 2 has 1 action to approve",
        "  ◂ child 1 finished  ·  1 model call  ·  $0.2500",
    ]
    assert told(replace(ended, status=ExecutionStatus.STUCK, steps=3)) == [
        "  ◂ d ended: stuck  ·  3 model calls  ·  $0.2500"
    ]


def test_what_a_person_set_is_told_and_no_secret_is() -> None:
    assert told(
        RuleAdded(rule=PermissionRule("deny", "terminal", "git push*", "command"), scope="project"),
        RuleRemoved(rule=PermissionRule("allow", "file_editor")),
        SecretsChanged(secrets={"TOKEN": SavedStatic(token="gibberish", description="of the API")}),
        SecretsChanged(secrets={}),
        TitleChanged(title="Tests"),
        TagsChanged(tags={"team": "core"}),
        BudgetGranted(amount=2.5),
        InterruptEvent(reason="lunch"),
        InterruptEvent(goes_on=True),
    ) == [
        '+ rule in this project: deny terminal, command like "git push*"',
        "- rule in this conversation: allow file_editor",
        "secrets: TOKEN",
        "secrets: none left",
        "title: Tests",
        "tags: team=core",
        "$2.50 more may be spent",
        "■ interrupted: lunch",
        "■ cut for a message",
    ]


def test_a_retry_says_what_failed_and_what_comes() -> None:
    failed = ModelCallRetried(command="c", attempt=1, model="m", next_model="m", code="timeout", detail="no", wait=0.5)
    assert told(failed, replace(failed, next_model="n", wait=0.0)) == [
        "↻ m failed (timeout: no): try 2 in 0.5 s",
        "↻ m failed (timeout: no): try 2 with n at once",
    ]


def test_the_summary_has_the_goal_and_what_was_delegated() -> None:
    started = ChildStarted(child_id="d", task="look")
    events = [
        *samples.beginning(),
        GoalSet(objective="it works", max_iterations=1),
        started,
        replace(started, id="x", child_id="e"),
        ChildFinished(child_id="e", status=ExecutionStatus.FINISHED),
    ]
    line = summary(fold(samples.numbered(events))).plain
    assert line.startswith("idle  ·  goal not reached yet  ·  2 delegated: 1 finished, 1 at work  ·  0 model calls")
    judged = CriticAssessed(critic="goal", score=0.5, success=False)
    assert "goal not reached, judged 1 time  ·" in summary(fold(samples.numbered([*events, judged]))).plain
    judged = replace(judged, success=True)
    assert "idle  ·  goal reached  ·" in summary(fold(samples.numbered([*events, judged]))).plain


def test_every_sample_can_be_told() -> None:
    assert len(told(*samples.numbered(samples.every_event()))) > 15


def test_a_condensation_is_a_line_that_opens_to_its_summary() -> None:
    event = Condensation(
        forgotten_event_ids=("a", "b"),
        masked_event_ids=("c",),
        summary="## Task\nGo \x1b[31mon.",
        problem="no model summed it up: gone",
        tokens_before=12_000,
        tokens_after=900,
    )
    head = "… 2 events and the output of 1 result left the model's view (12,000 → 900 tokens)"
    assert [line.plain for line in Story().tell(event)] == [head, "! no model summed it up: gone"]
    whole = [line.plain for line in Story(folded=False).tell(event)]
    assert whole[2:] == ["  ## Task", "  Go [31mon."]
    assert [line.plain for line in Story().tell(Condensation())] == ["… nothing left the model's view"]


def test_a_rewind_of_files_names_those_that_stayed_and_those_that_went_whoever_changed_them() -> None:
    restored = FilesRestored(
        to=3,
        tree="a",
        files=2,
        restored=("a", "b"),
        left=("theirs", "x"),
        left_count=2,
        unknown=("x",),
        unknown_count=1,
        during=(ChangedDuring(calls=(7, 8), paths=("a", "b"), count=2),),
        error="a call ran already",
    )
    assert told(restored) == [
        "↩ 2 files restored to event 3",
        "↩ whoever changed them while event 7, 8 ran: a, b",
        "! left as somebody else changed them: theirs",
        "! left, since it is not known what they were or who made them: x",
        "! not all could be taken back: a call ran already",
    ]
    many = FilesRestored(to=3, left=tuple(f"f{number}" for number in range(25)), left_count=1200)
    assert told(many)[-1].endswith("f19 and 1,180 more")


def test_the_lines_of_a_wrapped_line_keep_its_margin() -> None:
    words = "a line that is longer than the terminal"
    wrapped = with_margin(Text(MARGIN + words, "red"), Console(width=20))
    assert all(line.plain.startswith(MARGIN) and line.cell_len <= 20 for line in wrapped.split("\n"))
    assert " ".join(line.plain.removeprefix(MARGIN).strip() for line in wrapped.split("\n")) == words
    for line in (Text("● terminal  " + words), Text(MARGIN + "short")):
        assert with_margin(line, Console(width=20)) is line


def test_what_was_asked_and_approved_stays_in_the_story() -> None:
    action = samples.action(id="a1")
    asked = ConfirmationRequested(action_ids=("a1",), reasons=("every",))
    approved = ConfirmationGiven(action_ids=("a1",))
    told = Story()
    told.use((samples.definition("terminal"),))
    lines = [line.plain for event in (action, asked, approved) for line in told.tell(event)]
    assert lines == ["● terminal  $ ls", "  │ approved"]
    live = Story(asks=True)  # the question shows the action, the story tells it when it is decided
    assert not [line for event in (action, asked) for line in live.tell(event)]
    by = replace(approved, by="ann")
    assert [line.plain for line in live.tell(by)][-1] == "  │ approved by ann"
