"""`decide`: what is due in each state, and what may be appended."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from agentrt.decisions import (
    AssessRisk,
    CallModel,
    Condense,
    ExecuteAction,
    RequestConfirmation,
    Stop,
    approval,
    asleep,
    check,
    decide,
    interruption,
    lost,
    recovery,
    refusal,
    rejection,
    waiting,
)
from agentrt.errors import EventRefused
from agentrt.events import (
    ActionRevised,
    AgentErrorEvent,
    ChildAnswered,
    ChildFinished,
    ChildStarted,
    CondensationRequest,
    ConfirmationGiven,
    ConfirmationRequested,
    ConversationErrorEvent,
    Event,
    ExecutionLost,
    ExecutionStarted,
    ExecutionStatus,
    GoalSet,
    HeadMoved,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ModelCallStarted,
    ObservationEvent,
    PauseEvent,
    ResourceLost,
    RiskAssessed,
    RuleAdded,
    RunRequested,
    StuckDetected,
    ToolsChanged,
    UserRejectObservation,
)
from agentrt.specs import AlwaysConfirm, HookEvent, Limits, PermissionRule, SecurityRisk, ToolDefinition
from agentrt.specs.content import text
from agentrt.specs.mcp import MCPServer
from agentrt.specs.stuck import Critic
from agentrt.state import State, fold
from tests import samples, status_table
from tests.decisions.states import (
    CALL,
    CALLED,
    GOAL,
    RISKY,
    after,
    child_waits,
    finished,
    hooked,
    judged,
    rated,
    started,
    then,
    with_hooks,
)
from tests.histories import histories

pytestmark = pytest.mark.pure


@pytest.mark.simulated
def test_the_table_of_the_status_is_that_of_the_code() -> None:
    assert status_table.documented(status_table.DOCS.read_text()) == status_table.markdown()
    assert status_table.CONSOLE.read_text() == status_table.typescript(), "python -m tests.status_table"


def table() -> list[tuple[str, str, State]]:
    """State by event: what the documentation shows."""
    act, ended = samples.action(id="a"), samples.action("finish", id="f")
    acting = (CALL, CALLED, act)
    high, low = (RiskAssessed(action_id="a", risk=risk) for risk in (SecurityRisk.HIGH, SecurityRisk.LOW))
    asked = (*acting, high, ConfirmationRequested(action_ids=("a",)))
    begun = (*acting, started(act))
    no = samples.failure(act)
    rows: list[tuple[str, str, State]] = [
        ("new", "`ConversationCreated`, `SystemPromptEvent`", fold(samples.numbered(samples.beginning()))),
        ("idle", "`MessageEvent` (user)", fold(samples.numbered([*samples.beginning(), samples.message()]))),
        ("idle, with a message", "`RunRequested`", after()),
        ("running", "`ModelCallStarted`", after(CALL)),
        ("calling the model", "`MessageEvent` (user)", after(CALL, samples.message("more"))),
        ("calling the model", "`ModelCalled`, `MessageEvent` (agent)", after(CALL, CALLED, samples.answer())),
        (
            "calling the model, more was said",
            "`ModelCalled`, `MessageEvent` (agent)",
            after(CALL, samples.message(), CALLED, samples.answer()),
        ),
        ("calling the model", "`ModelCalled`, `ActionEvent`, no analyzer", after(*acting)),
        ("calling the model", "`ModelCalled`, `ActionEvent`, an analyzer", after(*acting, spec=RISKY)),
        ("calling the model", "`ModelCalled`, `CondensationRequest`", after(CALL, CALLED, CondensationRequest())),
        ("calling the model", "`ModelCalled`, `ConversationErrorEvent`", after(CALL, CALLED, _error())),
        ("an action is rated", "`RiskAssessed` below the threshold", after(*acting, low, spec=RISKY)),
        ("an action is rated", "`RiskAssessed` at the threshold", after(*acting, high, spec=RISKY)),
        ("an action is held", "`ConfirmationRequested`", after(*asked, spec=RISKY)),
        (
            "waiting_for_confirmation",
            "`ConfirmationGiven`",
            after(*asked, ConfirmationGiven(action_ids=("a",)), spec=RISKY),
        ),
        ("waiting_for_confirmation", "`UserRejectObservation`", after(*asked, no, spec=RISKY)),
        (
            "waiting_for_confirmation",
            "`InterruptEvent` and its errors",
            after(*asked, InterruptEvent(), no, spec=RISKY),
        ),
        ("an action is due", "`ExecutionStarted`", after(*begun)),
        ("a tool runs", "`ObservationEvent`", after(*begun, samples.observation(act))),
        ("a tool runs", "`AgentErrorEvent`", after(*begun, no)),
        ("a tool runs", "`PauseEvent`", after(*begun, PauseEvent())),
        ("a tool runs", "`InterruptEvent`", after(*begun, InterruptEvent())),
        ("a tool is cut", "`AgentErrorEvent`", after(*begun, InterruptEvent(), no)),
        ("a tool was cut by a crash", "`ExecutionLost`, `RunRequested`", after(*begun, ExecutionLost(action_id="a"))),
        ("`finish` runs", "`ObservationEvent`", after(CALL, CALLED, ended, started(ended), samples.observation(ended))),
        ("paused", "`RunRequested`", after(CALL, PauseEvent(), CALLED, act, RunRequested())),
        ("running", "`StuckDetected`", after(StuckDetected(pattern="monologue"))),
        (
            "stuck",
            "`MessageEvent` (user), `RunRequested`",
            after(StuckDetected(pattern="x"), samples.message(), RunRequested()),
        ),
        ("error", "`RunRequested`", after(CALL, CALLED, _error(), RunRequested())),
        (
            "running, at its limit of steps",
            "any",
            after(CALL, CALLED, act, samples.observation(act), spec=samples.agent(limits=Limits(max_steps=1))),
        ),
        ("at rest", "`HeadMoved`", after(CALL, CALLED, samples.answer(), HeadMoved(to=3))),
    ]
    return [*rows, *_in_charge(), *_ending(), *_delegating()]


def _in_charge() -> list[tuple[str, str, State]]:
    """What hooks, rules and messages do."""
    act, begun = samples.action(id="a"), (CALL, CALLED, samples.action(id="a"))
    before, deny = with_hooks(HookEvent.BEFORE_TOOL), RuleAdded(rule=PermissionRule("deny", "terminal"))
    revised = ActionRevised(action_id="a", arguments_json=msgspec.Raw(b"{}"))
    heard = with_hooks(HookEvent.USER_MESSAGE)
    said = samples.message(id="m")
    first = fold(samples.numbered([*samples.beginning(heard), said, RunRequested()]))
    high = (*begun, rated("a"), ConfirmationRequested(action_ids=("a",)))
    done = (*begun, started(act), samples.observation(act))
    cut = InterruptEvent(goes_on=True)
    three = (CALL, CALLED, *(event for n in range(3) for event in _looked(n)))
    stuck = (*three, StuckDetected(pattern="x", nudge=True), *_looked(3))
    return [
        ("idle, with a message, hooks of the start", "`RunRequested`", after(spec=with_hooks(HookEvent.START))),
        ("idle, with a message, hooks of messages", "`RunRequested`", first),
        (
            "running, hooks of messages",
            "`HookExecutionEvent` that allows",
            then(first, hooked(HookEvent.USER_MESSAGE, "m")),
        ),
        (
            "running, hooks of messages",
            "`HookExecutionEvent` that denies all there was",
            then(first, hooked(HookEvent.USER_MESSAGE, "m", "deny")),
        ),
        ("calling the model", "`ModelCalled`, `ActionEvent`, hooks before it", after(*begun, spec=before)),
        (
            "hooks see an action",
            "`HookExecutionEvent` that allows",
            after(*begun, hooked(HookEvent.BEFORE_TOOL, "a"), spec=before),
        ),
        (
            "hooks see an action",
            "`HookExecutionEvent` that asks",
            after(*begun, hooked(HookEvent.BEFORE_TOOL, "a", "ask"), spec=before),
        ),
        (
            "hooks see an action",
            "`HookExecutionEvent`, `UserRejectObservation`",
            after(*begun, hooked(HookEvent.BEFORE_TOOL, "a", "deny"), _refused(), spec=before),
        ),
        (
            "hooks see an action",
            "`HookExecutionEvent`, `ActionRevised`, an analyzer",
            after(*begun, hooked(HookEvent.BEFORE_TOOL, "a"), revised, spec=replace(before, analyzer="rules")),
        ),
        ("calling the model", "`ModelCalled`, `ActionEvent`, a rule denies it", after(deny, *begun)),
        ("an action is refused", "`UserRejectObservation`", after(deny, *begun, _refused())),
        (
            "waiting_for_confirmation",
            "`RuleAdded` or `ConversationStateUpdateEvent` that allows",
            after(*high, RuleAdded(rule=PermissionRule("allow")), spec=RISKY),
        ),
        ("waiting_for_confirmation", "`RuleAdded` that denies", after(*high, deny, spec=RISKY)),
        ("waiting_for_confirmation", "`MessageEvent` (user)", after(*high, samples.message(), spec=RISKY)),
        ("paused", "`ConfirmationGiven`", after(*high, PauseEvent(), ConfirmationGiven(action_ids=("a",)), spec=RISKY)),
        ("a tool runs, hooks after it", "`ObservationEvent`", after(*done, spec=with_hooks(HookEvent.AFTER_TOOL))),
        (
            "hooks see a result",
            "`HookExecutionEvent`",
            after(*done, hooked(HookEvent.AFTER_TOOL, "a"), spec=with_hooks(HookEvent.AFTER_TOOL)),
        ),
        (
            "calling the model",
            "`InterruptEvent` that goes on, `MessageEvent` (user)",
            after(CALL, cut, samples.message()),
        ),
        (
            "the call is cut and goes on",
            "`MessageEvent` (partial), `ModelCalled`",
            after(CALL, cut, samples.message(), samples.answer(partial=True), CALLED),
        ),
        ("running, one repetition before it is stuck", "any", after(*three)),
        ("running, stuck after it was told", "any", after(*stuck)),
    ]


def _ending() -> list[tuple[str, str, State]]:
    """What has a say when the agent wants to end."""
    stop, critic = with_hooks(HookEvent.STOP), with_hooks(critic=Critic("pass"))
    missing = MessageEvent(content=text("This is not done."))
    denied = hooked(HookEvent.STOP, "f", "deny")
    every, act = with_hooks(critic=Critic("pass", mode="all_actions")), samples.action(id="a")
    ran = (CALL, CALLED, act, started(act), samples.observation(act))
    return [
        ("a tool runs, a critic of all actions", "`ObservationEvent`", after(*ran, spec=every)),
        (
            "what was done is judged midway",
            "`CriticAssessed` without success",
            after(*ran, judged("pass", success=False, midway=True), spec=every),
        ),
        ("`finish` runs, a critic", "`ObservationEvent`", after(*finished(), spec=critic)),
        (
            "its end is judged",
            "`CriticAssessed` with success",
            after(*finished(), judged("pass", success=True), spec=critic),
        ),
        (
            "its end is judged",
            "`CriticAssessed`, `MessageEvent`",
            after(*finished(), judged("pass", success=False), missing, spec=critic),
        ),
        ("its end is judged", "`MessageEvent` (user)", after(*finished(), samples.message(), spec=critic)),
        ("`finish` runs, a goal", "`ObservationEvent`", after(GOAL, *finished())),
        ("its end is judged", "`GoalSet` that takes the goal back", after(GOAL, *finished(), GoalSet(objective=""))),
        ("`finish` runs, hooks of the stop", "`ObservationEvent`", after(*finished(), spec=stop)),
        (
            "hooks see the end",
            "`HookExecutionEvent` that allows",
            after(*finished(), hooked(HookEvent.STOP), spec=stop),
        ),
        (
            "hooks see the end",
            "`HookExecutionEvent` that denies, `MessageEvent`",
            after(*finished(), denied, missing, spec=stop),
        ),
        (
            "hooks see the end",
            "`PauseEvent`, `RunRequested`",
            after(*finished(), PauseEvent(), RunRequested(), spec=stop),
        ),
        (
            "paused, `finish` ends",
            "`RunRequested`",
            after(*finished()[:-1], PauseEvent(), finished()[-1], RunRequested()),
        ),
        ("finished", "`RunRequested`", after(*finished(), RunRequested())),
    ]


def _delegating() -> list[tuple[str, str, State]]:
    """What conversations that are delegated to do."""
    task = replace(samples.action("delegate", id="a"), arguments_json=msgspec.Raw(b'{"task":"look"}'))
    begun = (CALL, CALLED, task, started(task), ChildStarted(child_id="a-child", task="look", action_id="a"))
    waits = (*begun, child_waits("a-child", "b1"))
    answer = ChildAnswered(child_id="a-child", action_id="b1", approved=True)
    ended = ChildFinished(child_id="a-child", status=ExecutionStatus.FINISHED)
    return [
        ("calling the model", "`ModelCalled`, `ActionEvent` that delegates", after(CALL, CALLED, task)),
        ("a delegation is due", "`ExecutionStarted`, `ChildStarted`", after(*begun)),
        ("a delegation runs", "`ChildWaiting`", after(*waits)),
        ("waiting_for_confirmation, below", "`ChildAnswered`", after(*waits, answer)),
        (
            "waiting_for_confirmation, below",
            "`PauseEvent`, `RunRequested`",
            after(*waits, PauseEvent(), RunRequested()),
        ),
        ("a delegation runs", "`ChildFinished`, `ObservationEvent`", after(*begun, ended, samples.observation(task))),
        (
            "a delegation was cut by a crash",
            "`ExecutionLost`, `RunRequested`",
            after(*begun, ExecutionLost(action_id="a")),
        ),
    ]


def _refused() -> UserRejectObservation:
    return UserRejectObservation(source="environment", action_id="a", tool_name="terminal", tool_call_id="call_1")


def _looked(n: int) -> tuple[Event, ...]:
    action = samples.action("look", id=f"l{n}")
    return (action, replace(samples.observation(action), fingerprint=7))


def _error() -> ConversationErrorEvent:
    return ConversationErrorEvent(code="timeout", detail="try again")


def rendered() -> str:
    """The table as the documentation has it."""
    lines = ["| state | event | status after | due |", "| --- | --- | --- | --- |"]
    for before, event, state in table():
        due = ", ".join(f"`{type(command).__name__}`" for command in decide(state)) or "nothing"
        lines.append(f"| {before} | {event} | {state.status.value} | {due} |")
    return "\n".join(lines) + "\n"


@pytest.mark.simulated
def test_the_documented_table_is_what_the_code_does() -> None:
    page = Path(__file__).parent.parent / "docs" / "state-machine.md"
    assert rendered() in page.read_text(), f"paste this into {page}:\n\n{rendered()}"


@given(histories())
def test_nothing_is_due_unless_it_runs_and_ids_never_repeat(events: list[Event]) -> None:
    state = fold(events)
    due = decide(state)
    assert not due or state.status is ExecutionStatus.RUNNING
    assert len({command.id for command in due}) == len(due)
    begun = {e.command for e in events if isinstance(e, (ModelCallStarted, ExecutionStarted))}
    assert not begun & {command.id for command in due}
    assert state.status is not ExecutionStatus.RUNNING or due or state.in_flight, "a run that has nothing to do ends"


@given(histories())
def test_every_call_has_one_result_and_no_tool_runs_twice(events: list[Event]) -> None:
    kinds = (AgentErrorEvent, ObservationEvent, UserRejectObservation)
    results = [e.action_id for e in events if isinstance(e, kinds)]
    assert len(results) == len(set(results))
    executions = [e.command for e in events if isinstance(e, ExecutionStarted)]
    assert len(executions) == len(set(executions))


@given(histories())
def test_after_a_crash_anywhere_nothing_stays_in_flight(events: list[Event]) -> None:
    state = fold(events)
    closing = recovery(state)
    check(state, [e for e in closing if not isinstance(e, ExecutionLost)])
    recovered = fold(samples.numbered(closing, state.seq + 1), start=state)
    assert recovered.in_flight == ()
    assert not recovered.branch.cut
    assert recovered.status is not ExecutionStatus.RUNNING
    assert not recovery(recovered), "recovering twice changes nothing more"


@given(histories())
def test_an_interrupt_leaves_only_what_is_in_flight(events: list[Event]) -> None:
    state = fold(events)
    batch = interruption(state, "")
    check(state, batch)
    stopped = fold(samples.numbered(batch, state.seq + 1), start=state)
    assert decide(stopped) == ()
    assert stopped.in_flight == state.in_flight
    assert all(p.command for p in stopped.branch.pending)


def test_calls_run_in_their_order_as_far_as_resources_allow() -> None:
    one, two = samples.action("look", "r", "file:/a"), samples.action("look", "r", "file:/b")
    three, last = samples.action("look", "r", "file:/a"), samples.action("finish", "r", "*")
    spec = samples.agent(limits=Limits(tool_concurrency=3))

    def due(*events: Event) -> list[str]:
        commands = decide(after(CALL, CALLED, one, two, three, last, *events, spec=spec))
        return [command.action.id for command in commands if isinstance(command, ExecuteAction)]

    assert due() == [one.id, two.id]
    assert due(started(one), started(two)) == []
    assert due(started(one), started(two), samples.observation(one)) == [three.id]
    assert due(started(one), started(two), samples.observation(two)) == []
    both = (samples.observation(one), samples.observation(two))
    assert due(started(one), started(two), *both, started(three), samples.observation(three)) == [last.id]


def test_four_calls_run_at_a_time_by_default() -> None:
    calls = [samples.action("look", "r") for _ in range(5)]
    due = decide(after(CALL, CALLED, *calls))
    assert [command.id for command in due] == [f"execute-{one.id}-1" for one in calls[:4]]
    due = decide(after(CALL, CALLED, *calls, spec=samples.agent(limits=Limits(tool_concurrency=1))))
    assert [command.id for command in due] == [f"execute-{calls[0].id}-1"]


def test_a_batch_is_held_until_all_of_it_is_rated() -> None:
    one, two = samples.action(id="a"), samples.action(id="b")
    rated = RiskAssessed(action_id="a", risk=SecurityRisk.LOW)
    due = decide(after(CALL, CALLED, one, two, rated, spec=RISKY))
    assert [command.id for command in due] == ["assess-b-0-rules"]


@pytest.mark.parametrize(
    ("risk", "asked"),
    [(SecurityRisk.LOW, False), (SecurityRisk.MEDIUM, False), (SecurityRisk.HIGH, True), (SecurityRisk.UNKNOWN, True)],
)
def test_what_is_risky_or_unknown_is_asked(risk: SecurityRisk, asked: bool) -> None:
    act = samples.action()
    (due,) = decide(after(CALL, CALLED, act, RiskAssessed(action_id=act.id, risk=risk), spec=RISKY))
    assert isinstance(due, RequestConfirmation if asked else ExecuteAction)


@pytest.mark.parametrize("name", ["finish", "think"])
def test_nobody_is_asked_about_what_touches_nothing(name: str) -> None:
    act = samples.action(name)
    spec = samples.agent(analyzer="rules", confirmation=AlwaysConfirm())
    (due,) = decide(after(CALL, CALLED, act, RiskAssessed(action_id=act.id, risk=SecurityRisk.LOW), spec=spec))
    assert isinstance(due, ExecuteAction)


def test_a_limit_of_steps_ends_the_run_and_running_again_goes_on() -> None:
    spec = samples.agent(limits=Limits(max_steps=1))
    act = samples.action()
    rest = (CALL, CALLED, act, samples.observation(act))
    (due,) = decide(after(*rest, spec=spec))
    assert isinstance(due, Stop)
    assert "max_steps" in due.detail
    again = after(*rest, ConversationErrorEvent(code=due.code, detail=due.detail), RunRequested(), spec=spec)
    assert isinstance(decide(again)[0], CallModel)


def test_a_view_that_is_too_long_is_condensed_before_the_next_call() -> None:
    (due,) = decide(after(CALL, CALLED, CondensationRequest()))
    assert isinstance(due, Condense)


def test_an_outcome_is_refused_once_something_else_came_first() -> None:
    act = samples.action()
    running = after(CALL)
    assert refusal(running, [CALLED], "call-1") is None
    assert refusal(running, [CALLED], "call-2") == "call-2"
    assert refusal(after(CALL, CALLED, act), [], "call-1") == "call-1"
    cut = after(CALL, InterruptEvent())
    assert refusal(cut, [CALLED, act], "call-1") == "call-1", "no action may begin after an interrupt"
    assert refusal(cut, [samples.answer(partial=True), CALLED], "call-1") is None, "what was said is kept"
    assert refusal(after(CALL, CALLED, act, spec=RISKY), [], f"assess-{act.id}-0-rules") is None
    assert refusal(cut, [samples.message()], None) is None


def test_history_keeps_its_invariants() -> None:
    act = samples.action()
    state = after(CALL, CALLED, act)
    check(state, [samples.observation(act)])
    with pytest.raises(EventRefused, match="has a result already"):
        check(state, [samples.observation(act), samples.failure(act)])
    with pytest.raises(EventRefused, match="system prompt"):
        check(State(), [samples.message()])
    with pytest.raises(EventRefused, match="interrupt it first"):
        check(state, [HeadMoved(to=3)])
    with pytest.raises(EventRefused, match="no event 99"):
        check(after(CALL, CALLED, samples.answer()), [HeadMoved(to=99)])


def test_each_tool_says_what_happens_after_a_crash() -> None:
    ask, retry, fail = samples.action("terminal", "r"), samples.action("look", "r"), samples.action("once", "r")
    state = after(CALL, CALLED, ask, retry, fail, started(ask), started(retry), started(fail))
    unknown, again, failed, shell, paused = recovery(state)
    assert isinstance(unknown, AgentErrorEvent)
    assert "unknown" in unknown.error
    assert again == replace(again, action_id=retry.id)
    assert isinstance(failed, AgentErrorEvent)
    assert "failed" in failed.error
    assert isinstance(shell, ResourceLost)
    assert shell.tool_name == "terminal"
    assert isinstance(paused, PauseEvent)
    resumed = fold(samples.numbered([*recovery(state), RunRequested()], state.seq + 1), start=state)
    (due,) = decide(resumed)
    assert isinstance(due, ExecuteAction)
    assert (due.action.id, due.attempt) == (retry.id, 2)


def test_a_lost_shell_is_told_once() -> None:
    act = samples.action()
    state = after(CALL, CALLED, act, started(act), samples.observation(act), PauseEvent())
    (first,) = recovery(state)
    assert isinstance(first, ResourceLost)
    told = fold(samples.numbered([first], state.seq + 1), start=state)
    assert recovery(told) == ()


def test_a_lost_shell_is_told_though_the_model_does_not_see_its_use_any_more() -> None:
    act = samples.action()
    used = after(CALL, CALLED, act, started(act), samples.observation(act), PauseEvent())
    rewound = fold(samples.numbered([HeadMoved(to=3)], used.seq + 1), start=used)
    assert not any(seen.type == "ActionEvent" for seen in rewound.branch.view)
    (shell,) = [event for event in recovery(rewound) if isinstance(event, ResourceLost)]
    assert shell.tool_name == "terminal"
    called = after(CALL, CALLED, act, PauseEvent())
    assert not any(isinstance(event, ResourceLost) for event in recovery(called)), "it never ran"


def test_an_approval_does_not_outlive_the_shell() -> None:
    first, second, other = samples.action(id="a"), samples.action(id="b"), samples.action("look", id="c")
    asked = ConfirmationRequested(action_ids=("a", "b", "c"))
    ratings = [RiskAssessed(action_id=act.id, risk=SecurityRisk.HIGH) for act in (first, second, other)]
    given = ConfirmationGiven(action_ids=("a", "b", "c"))
    batch = (CALL, CALLED, first, second, other, *ratings, asked, given, started(first))
    state = after(*batch, spec=RISKY)
    state = fold(samples.numbered([*recovery(state), RunRequested()], state.seq + 1), start=state)
    assert {p.action.id: (p.approved, p.risk) for p in state.branch.pending} == {
        "b": (False, None),
        "c": (True, SecurityRisk.HIGH),
    }
    (rating,) = decide(state)
    assert isinstance(rating, AssessRisk)
    low = RiskAssessed(action_id="b", risk=SecurityRisk.LOW)
    state = fold(samples.numbered([low], state.seq + 1), start=state)
    (request,) = decide(state)
    assert isinstance(request, RequestConfirmation)
    assert request.reasons == (("b", "lost:terminal"),)


def test_an_answer_to_a_question_from_before_a_loss_does_not_count() -> None:
    shell, act = samples.action(id="s"), samples.action(id="a")
    high = RiskAssessed(action_id="a", risk=SecurityRisk.HIGH)
    used = (CALL, CALLED, shell, RiskAssessed(action_id="s", risk=SecurityRisk.LOW), started(shell))
    asked = (samples.observation(shell), replace(CALL, command="call-2"), replace(CALLED, command="call-2"), act, high)
    state = after(*used, *asked, ConfirmationRequested(action_ids=("a",)), spec=RISKY)
    slept = fold(samples.numbered(asleep(state), state.seq + 1), start=state)
    assert slept.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    assert [p.action.id for p in waiting(slept)] == ["a"], "it can be answered while it sleeps"
    assert asleep(slept) == ()
    answered = fold(samples.numbered(approval(slept), slept.seq + 1), start=slept)
    (rating,) = decide(answered)
    assert isinstance(rating, AssessRisk)
    refused = fold(samples.numbered(rejection(slept, "no"), slept.seq + 1), start=slept)
    assert not refused.branch.pending


def test_a_call_of_a_server_that_was_a_process_is_asked_again() -> None:
    note = ToolDefinition(name="note", description="", parameters=msgspec.Raw(b"{}"))
    offered = ToolsChanged(server="notes", tools=(note,))
    spec = replace(RISKY, mcp_servers={"notes": MCPServer(command="notes")})
    act = samples.action("note", id="a")
    batch = (offered, CALL, CALLED, act, RiskAssessed(action_id="a", risk=SecurityRisk.HIGH))
    state = after(*batch, ConfirmationRequested(action_ids=("a",)), spec=spec)
    (lost_server,) = asleep(state)
    assert isinstance(lost_server, ResourceLost)
    assert (lost_server.tool_name, lost_server.revoked) == ("note", ("a",))
    slept = fold(samples.numbered([lost_server], state.seq + 1), start=state)
    assert asleep(slept) == (), "it is told once"


def test_what_a_performer_lost_is_closed() -> None:
    act = samples.action()
    (called,) = lost(after(CALL), "call-1", "gone")
    assert isinstance(called, ModelCalled)
    assert called.error == "gone"
    (error,) = lost(after(CALL, CALLED, act, started(act)), f"execute-{act.id}-1", "gone")
    assert isinstance(error, AgentErrorEvent)
    assert error.action_id == act.id
    assert lost(after(), "assess-x", "gone") == ()
