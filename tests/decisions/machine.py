"""`ConversationMachine`: everything that can happen to a conversation, as the rules of a hypothesis state machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from agentrt.codec import encode, skim
from agentrt.decisions import (
    AssessRisk,
    Attend,
    CallModel,
    Condense,
    Delegate,
    ExecuteAction,
    Judge,
    Note,
    RunHooks,
    Task,
    action_error,
    answered,
    approval,
    asleep,
    awaiting,
    decide,
    expiry,
    interruption,
    rejection,
    said,
)
from agentrt.errors import ConversationBusy, EventRefused
from agentrt.events import (
    SCHEMA_VERSION,
    ActionEvent,
    BudgetGranted,
    ChildAnswered,
    ConfirmationGiven,
    ConversationStateUpdateEvent,
    Event,
    ExecutionStatus,
    GoalSet,
    HeadMoved,
    InputGiven,
    InputRequested,
    ObservationEvent,
    PauseEvent,
    RuleAdded,
    RuleRemoved,
    RunEnded,
    RunRequested,
)
from agentrt.memo import Memo, memo, recalled
from agentrt.specs import Agent, BusyPolicy, HookEvent
from agentrt.specs.content import text
from agentrt.state import Calling, Ended, State, Working, fold
from agentrt.state.status import status_after
from tests import samples
from tests.decisions.oracle import Oracle
from tests.decisions.world import Given, World
from tests.histories import CRITICS, HOOKS, POLICIES, RULES, STUCK, agents, some

RESTING = (ExecutionStatus.FINISHED, ExecutionStatus.IDLE, ExecutionStatus.ERROR, ExecutionStatus.STUCK)


def _set(key: str, values: st.SearchStrategy[object]) -> st.SearchStrategy[ConversationStateUpdateEvent]:
    """A setting is changed."""
    return values.map(
        lambda value: ConversationStateUpdateEvent(key=key, value=msgspec.Raw(msgspec.json.encode(value)))
    )


SETTINGS = (
    _set("confirmation", st.sampled_from(POLICIES)),
    _set("critic", st.sampled_from(CRITICS)),
    _set("hooks", some(HOOKS)),
    _set("rules", some(RULES)),
    _set("analyzer", st.sampled_from((None, "rules"))),
    _set("stuck", st.sampled_from(STUCK)),
    _set("busy", st.sampled_from(tuple(BusyPolicy))),
)
HOOKED = _set("hooks", st.sampled_from([(hook,) for hook in HOOKS if hook.event is HookEvent.BEFORE_TOOL]))
GRANTS = st.sampled_from((0.5, 2.0)).map(lambda amount: BudgetGranted(amount=amount))
GOALS = st.tuples(st.sampled_from(("", "all tests pass")), st.integers(1, 2)).map(
    lambda goal: GoalSet(objective=goal[0], max_iterations=goal[1])
)
ADDED = st.sampled_from(RULES).map(lambda rule: RuleAdded(rule=rule))
REMOVED = st.sampled_from(RULES).map(lambda rule: RuleRemoved(rule=rule))
ENOUGH = 400
"""Steps in which a conversation comes to its end when everyone helps."""


HAPPENINGS = ("child_asks", "child_asks", "ask_a_person", "ask_aside", "retry", "fail")


class ConversationMachine(RuleBasedStateMachine):
    """A conversation with random people, performers and crashes; what must hold is checked after each step."""

    @initialize(agent=agents(), data=st.data())
    def begin(self, agent: Agent, data: st.DataObject) -> None:
        self.oracle = Oracle()
        self.broken = False
        self.world = World(agent, data.draw, self.see)
        self.said: list[str] = []
        self.say("go", None, data)
        self.world.append(RunRequested())

    def see(self, before: State, batch: Sequence[Event], given: Given | None) -> None:
        self.broken = True
        if given is not None:
            self.oracle.hold(before, given.command, given.view)
        self.oracle.see(before, batch)
        self.broken = False

    def use(self, data: st.DataObject) -> World:
        """The world, with what is random drawn from this step's data."""
        self.world.draw = data.draw
        return self.world

    # People

    @rule(busy=st.sampled_from((None, None, *BusyPolicy)), again=st.booleans(), data=st.data())
    def message(self, busy: BusyPolicy | None, again: bool, data: st.DataObject) -> None:
        repeated = data.draw(st.sampled_from(self.said)) if again else None
        self.say("more", busy, data, repeated)

    def say(self, words: str, busy: BusyPolicy | None, data: st.DataObject, id: str | None = None) -> None:
        world = self.use(data)
        message = samples.message(words, id or world.new("m"))
        if message.id in world.state.ledger.message_ids:
            return
        try:
            world.commit(said(world.state, message, busy))
        except ConversationBusy:
            assert world.state.status.at_work
        else:
            self.said.append(message.id)

    @rule(data=st.data())
    def run_on(self, data: st.DataObject) -> None:
        self.use(data).append(RunRequested())

    @rule(kind=st.sampled_from(("pause", "interrupt")), data=st.data())
    def stop(self, kind: str, data: st.DataObject) -> None:
        getattr(self, kind)(data)

    def pause(self, data: st.DataObject) -> None:
        world = self.use(data)
        ran = world.state.status.at_work
        world.append(PauseEvent())
        assert not ran or world.state.status is ExecutionStatus.PAUSED

    def interrupt(self, data: st.DataObject) -> None:
        world = self.use(data)
        world.commit(interruption(world.state, "enough"))
        assert all(p.command is not None for p in world.state.branch.pending), "what never began has its result"
        assert world.state.status is not ExecutionStatus.RUNNING

    def expire(self, data: st.DataObject) -> None:
        world = self.use(data)
        world.commit(expiry(world.state, 5))

    @precondition(lambda self: self.world.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION)
    @rule(yes=st.booleans(), all_of_them=st.booleans(), always=st.booleans(), data=st.data())
    def answer(self, yes: bool, all_of_them: bool, always: bool, data: st.DataObject) -> None:
        world = self.use(data)
        waits = [p.action.id for p in world.state.branch.pending if p.held]
        waits += [action.action_id for child in world.state.ledger.children.values() for action in child.waiting]
        chosen = () if all_of_them or not waits else (world.pick(waits),)  # a tool's question may be all that waits
        scope = "session" if always else None
        batch = approval(world.state, chosen, scope) if yes else rejection(world.state, "no", chosen)  # type: ignore[arg-type]
        assert batch or world.state.branch.inputs, "who waits can be answered"
        world.append(*batch)

    @precondition(lambda self: bool(awaiting(self.world.state)))
    @rule(data=st.data())
    def give_result(self, data: st.DataObject) -> None:
        world = self.use(data)
        world.append(pressed(world.pick(awaiting(world.state)).action))
        assert world.state.status is not ExecutionStatus.WAITING_FOR_CLIENT or awaiting(world.state)

    def ask_a_person(self, data: st.DataObject) -> None:
        """A tool asks while it runs."""
        world = self.use(data)
        running = [command.action for command in world.at_work.values() if isinstance(command, ExecuteAction)]
        running = [action for action in running if action.id in {p.action.id for p in world.state.branch.pending}]
        if running:
            world.append(InputRequested(id=world.new("i"), action_id=world.pick(running).id, message="Which?"))

    @precondition(lambda self: bool(self.world.state.branch.inputs))
    @rule(data=st.data())
    def give_input(self, data: st.DataObject) -> None:
        world = self.use(data)
        asked = world.pick(world.state.branch.inputs)
        world.append(InputGiven(request_id=asked.id))
        with pytest.raises(EventRefused):
            world.append(InputGiven(request_id=asked.id))

    def result_too_late(self, data: st.DataObject) -> None:
        """Its time is over, or the client gives it once more."""
        world = self.use(data)
        if waiting := awaiting(world.state):
            late = world.pick(waiting).action
            world.append(action_error(late, "too late"))
            with pytest.raises(EventRefused):
                world.append(pressed(late))

    def answer_too_late(self, data: st.DataObject) -> None:
        world = self.use(data)
        if self.oracle.calls:
            world.append(ConfirmationGiven(action_ids=(world.pick(list(self.oracle.calls)),)))
        if world.state.ledger.children:
            child = world.pick(list(world.state.ledger.children))
            world.append(ChildAnswered(child_id=child, action_id="b", approved=True))

    def rewind(self, data: st.DataObject) -> None:
        world = self.use(data)
        to, state = data.draw(st.integers(1, world.state.seq)), world.state
        try:
            world.append(HeadMoved(to=to))
        except EventRefused:
            assert state.in_flight or at_work_below(state) or state.status is ExecutionStatus.RUNNING or to == 1
        else:
            assert world.state.status is ExecutionStatus.IDLE
            assert not world.state.branch.pending

    @rule(decided=st.one_of(GRANTS, GOALS, ADDED, REMOVED, *SETTINGS), data=st.data())
    def configure(self, decided: Event, data: st.DataObject) -> None:
        self.use(data).append(replace(decided, id=self.world.new("s")))

    # Performers

    def perform(self, data: st.DataObject) -> None:
        world = self.use(data)
        world.perform(world.pick(list(world.at_work.values())))

    @precondition(lambda self: self.world.at_work)
    @rule(times=st.integers(1, 9), data=st.data())
    def perform_more(self, times: int, data: st.DataObject) -> None:
        for _ in range(times):
            if self.world.at_work:
                self.perform(data)

    @rule(data=st.data())
    def overtake(self, data: st.DataObject) -> None:
        """While somebody works on a command, that becomes another one, which somebody else begins or ends first."""
        world = self.use(data)
        self.say("go on", None, data)
        self.run_on(data)
        for _ in range(8):
            if world.at_work and not self.overtaken:
                self.perform(data)
        if not self.overtaken:
            return
        late = world.pick(self.overtaken)
        decided = {
            AssessRisk: (HOOKED, HOOKED, _set("analyzer", st.sampled_from((None, "rules", "model")))),
            RunHooks: (HOOKED,),
            Judge: (_set("critic", st.sampled_from(CRITICS)), GOALS),
        }.get(type(late))
        if decided is not None:
            self.configure_by(world.pick(decided), data)
        elif world.state.status is ExecutionStatus.RUNNING:
            world.append(PauseEvent())
        if data.draw(st.booleans()) and not world.state.in_flight and not at_work_below(world.state):
            for event in (PauseEvent(), HeadMoved(to=data.draw(st.integers(2, world.state.seq))), RunRequested()):
                world.append(event)
        for _ in range(3):
            if others := [task for task in world.at_work.values() if task.id != late.id]:
                world.perform(world.pick(others))
        if late.id in world.at_work:
            world.perform(late)

    @property
    def overtaken(self) -> list[Task]:
        """What is worked on without an event that began it."""
        begun = set(self.world.state.in_flight) | self.world.cancelled
        kinds = (AssessRisk, RunHooks, Judge, Condense)
        return [task for task in self.world.at_work.values() if task.id not in begun and isinstance(task, kinds)]

    def configure_by(self, values: st.SearchStrategy[Event], data: st.DataObject) -> None:
        self.use(data).append(replace(data.draw(values), id=self.world.new("s")))

    @rule(data=st.data())
    def ask_and_perform(self, data: st.DataObject) -> None:
        self.say("go on", None, data)
        self.run_on(data)
        self.perform_more(8, data)

    def fail(self, data: st.DataObject) -> None:
        world = self.use(data)
        if world.at_work:
            world.perform(world.pick(list(world.at_work.values())), fails=True)

    @rule(kind=st.sampled_from(HAPPENINGS), data=st.data())
    def happening(self, kind: str, data: st.DataObject) -> None:
        getattr(self, kind)(data)

    def retry(self, data: st.DataObject) -> None:
        world = self.use(data)
        for command in list(world.at_work.values()):
            if isinstance(command, CallModel):
                world.retry(command)

    def child_asks(self, data: st.DataObject) -> None:
        world, actions = self.use(data), data.draw(st.integers(0, 2))
        if delegations := [command for command in world.at_work.values() if isinstance(command, Delegate | Attend)]:
            world.child_asks(world.pick(delegations), actions)

    def ask_aside(self, data: st.DataObject) -> None:
        world = self.use(data)
        if world.aside:
            world.end_aside(world.pick(list(world.aside)))
        else:
            world.begin_aside()

    # What happens to processes

    @rule(
        kind=st.sampled_from(("rewind", "crash", "fork", "sleep", "expire", "answer_too_late", "result_too_late")),
        data=st.data(),
    )
    def disturbance(self, kind: str, data: st.DataObject) -> None:
        getattr(self, kind)(data)

    def crash(self, data: st.DataObject) -> None:
        world, lose = self.use(data), data.draw(st.booleans())
        if lose and len(world.before) > 1:
            self.oracle = Oracle.of(world.events[: world.before[-1][0]])
        world.crash(lose=lose)
        assert not world.state.in_flight
        assert not world.state.branch.cut
        assert world.state.status is not ExecutionStatus.RUNNING
        assert not world.state.ledger.reserved

    def fork(self, data: st.DataObject) -> None:
        world = self.use(data)
        world.fork()
        assert not world.state.branch.pending
        assert not world.state.in_flight

    def sleep(self, data: st.DataObject) -> None:
        world = self.use(data)
        if world.state.status is not ExecutionStatus.RUNNING and not world.state.in_flight:
            world.commit(asleep(world.state))

    # What must hold

    @invariant()
    def goes_on(self) -> None:
        """A conversation that runs has something to do, and who is to do it knows."""
        state, world = self.world.state, self.world
        due = decide(state)
        assert not any(isinstance(command, Note) for command in due), "what only the log notes is noted at once"
        assert state.status is not ExecutionStatus.RUNNING or due or state.in_flight, "a run with nothing to do ends"
        assert state.status is ExecutionStatus.RUNNING or not due, "nothing is due while it does not run"
        handed = world.at_work.keys() - (world.cancelled - world.next.keys())
        assert {command.id for command in due} <= handed, "what is due was handed out"
        assert set(state.in_flight) <= world.at_work.keys(), "what is in flight is with someone"
        children, pending = state.ledger.children.values(), state.branch.pending
        named = {p.action.id for p in pending}
        assert all(child.action_id in named or child.background for child in children if child.open)
        held = [child for child in children if child.open and child.waiting]
        asking = {child.action_id for child in held if child.status is ExecutionStatus.WAITING_FOR_CONFIRMATION}
        questions = {asked.action_id for asked in state.branch.inputs}
        assert questions <= {p.action.id for p in pending if p.command}, "only what runs has a question"
        asking |= questions
        ended = isinstance(world.events[-1], RunEnded)
        assert not ended or not state.status.at_work, "nothing goes on after the end"
        assert state.status is not ExecutionStatus.FINISHED or isinstance(state.branch.phase, Ended)
        working = isinstance(state.branch.phase, Calling | Working)
        assert working or not (pending or state.in_flight), "nothing is open when the agent has had its last word"
        idle = all(isinstance(command, Attend) for command in due) and state.branch.call is None
        waits = idle and not state.branch.cut and bool(state.in_flight or state.background)
        waits = waits and all(p.action.id in asking for p in pending if p.command is not None)
        waits = waits and all(child.action_id in asking for child in state.background.values())
        assert state.status is not ExecutionStatus.RUNNING or not waits, "who waits for a person says so"

    @invariant()
    def comes_back(self) -> None:
        """A memo of a state gives the state."""
        self.world.draw = None  # type: ignore[assignment]
        state = self.world.state
        assert through_bytes(state, self.world.events) == state

    def teardown(self) -> None:
        """The laws of the fold, and that there is a way on from here."""
        if not hasattr(self, "world") or self.broken:
            return
        world = self.world
        assert fold(world.events) == world.state
        assert reduce(status_after, world.events, State().status) == world.state.status, "the table alone tells it"
        assert fold(skim(as_written(event)) for event in world.events) == world.state
        half = len(world.events) // 2 or 1
        stored = through_bytes(fold(world.events[:half]), world.events)
        assert fold(world.events[half:], stored) == world.state, "a state that was stored goes on the same"
        finish(world)


def pressed(action: ActionEvent) -> ObservationEvent:
    """What a client gives as the result of an action."""
    return ObservationEvent(
        source="user",
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        content=text("pressed"),
    )


def at_work_below(state: State) -> bool:
    """Whether something works in the background."""
    return any(child.status is ExecutionStatus.RUNNING for child in state.background.values())


def as_written(event: Event) -> bytes:
    """The event as this version writes it."""
    return b'{"v":%d,' % SCHEMA_VERSION + encode(event)[1:]


def through_bytes(state: State, events: list[Event]) -> State:
    """What comes back of a state that was stored."""
    made = memo(state)
    assert made is not None
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Memo)
    return recalled(stored, [events[seq - 1] for seq in stored.events])


def finish(world: World) -> None:
    """Everyone helps until the conversation rests."""
    world.draw, world.calm = _first, True
    for turn in range(ENOUGH):
        state = world.state
        if state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
            given = tuple(InputGiven(request_id=asked.id) for asked in state.branch.inputs)
            batch = (*given, *(approval(state) if turn % 2 else rejection(state, "no")))
            assert batch, "who waits can be answered"
            world.append(*batch)
        elif state.status is ExecutionStatus.WAITING_FOR_CLIENT:
            world.append(pressed(awaiting(state)[0].action))
        elif world.at_work:
            world.perform(next(iter(world.at_work.values())))
        elif state.status in RESTING and (answered(state) or (turn and state.status is not ExecutionStatus.IDLE)):
            return
        else:
            world.append(RunRequested())
    raise AssertionError(f"no way on: {world.state.status}, {world.state.branch}, {list(world.at_work)}")


def _first(strategy: st.SearchStrategy[object]) -> object:
    """The first of the values that a strategy samples from: what helps most stands first."""
    elements = strategy.elements  # type: ignore[attr-defined]
    return elements[0]
