"""What delegations may use: shares of what is left, kept over a crash, and never given twice."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.decisions import Delegate, beginning, decide, lost, recovery, share_of, unfinished
from agentrt.decisions.sharing import used_steps
from agentrt.errors import ConfigurationError
from agentrt.events import (
    ActionEvent,
    BudgetReserved,
    ChildFinished,
    ConversationCreated,
    Event,
    ExecutionStatus,
    Grant,
    HeadMoved,
    InterruptEvent,
    ModelCalled,
    RunRequested,
    SystemPromptEvent,
    UserRejectObservation,
)
from agentrt.ledger import Child, allowance
from agentrt.specs import LLM, Agent, Hook, HookEvent, InformationFlow, Limits, OnCrash, PermissionRule, Tool
from agentrt.state import State, fold
from agentrt.usage import Spending, Usage
from tests import samples
from tests.decisions.states import CALL, calls, started, then

pytestmark = pytest.mark.pure

LIMITS = Limits(max_steps=30, tool_concurrency=3, max_cost=4.0, max_tokens=1000)


def team(limits: Limits = LIMITS) -> Agent:
    return replace(samples.agent(limits=limits), tools=(Tool("terminal"), Tool("delegate")))


def task(id: str) -> ActionEvent:
    return replace(samples.action("delegate", id=id), arguments_json=msgspec.Raw(b'{"task":"look"}'))


def asked_for(*ids: str, limits: Limits = LIMITS, cost: float = 0.0) -> State:
    """A model has asked for delegations."""
    created, prompt = samples.beginning(team(limits))
    assert isinstance(prompt, SystemPromptEvent)
    prompt = replace(prompt, tools=(*prompt.tools, samples.definition("delegate", OnCrash.RETRY)))
    called = ModelCalled(command="call-1", model="m", usage=Usage(90, 10), cost=cost)
    events = [created, prompt, samples.message(), RunRequested(), CALL, called, *(task(each) for each in ids)]
    return fold(samples.numbered(events))


def due(state: State) -> list[Delegate]:
    commands = decide(state)
    assert all(isinstance(command, Delegate) for command in commands)
    return [command for command in commands if isinstance(command, Delegate)]


def begun(state: State) -> State:
    return then(state, *(event for command in due(state) for event in beginning(command)))


def ended(id: str, cost: float, tokens: int = 10, steps: int = 2) -> tuple[Event, ...]:
    spent = {"default": Spending(1, Usage(tokens), cost)}
    child = ChildFinished(
        child_id=f"{id}-child", status=ExecutionStatus.FINISHED, cost=cost, spending=spent, steps=steps
    )
    return child, samples.observation(task(id))


def test_those_side_by_side_get_equal_shares_and_one_is_left() -> None:
    state = asked_for("a", "b", "c", cost=1.0)
    assert [command.grant for command in due(state)] == [Grant(0.75, 225, 7)] * 3
    left = allowance(begun(state).ledger, LIMITS)
    assert (left.cost, left.tokens) == (0.75, 225)
    assert used_steps(begun(state)) == 22


def test_what_was_not_used_is_free_again() -> None:
    state = then(begun(asked_for("a")), *ended("a", 0.5))
    left = allowance(state.ledger, LIMITS)
    assert (left.cost, left.tokens, state.branch.steps, used_steps(state)) == (3.5, 890, 3, 3)


def test_what_is_reserved_for_calls_is_not_shared() -> None:
    state = then(asked_for("a"), BudgetReserved(command="ask-agent-1", tokens=500, cost=2.0))
    (command,) = due(state)
    assert (command.grant.cost, command.grant.tokens) == (1.0, 200)


def test_no_limit_is_no_limit_below_but_for_steps() -> None:
    (command,) = due(asked_for("a", limits=Limits(max_steps=9)))
    assert command.grant == Grant(None, None, 4)


def test_one_at_a_time_shares_with_those_that_wait() -> None:
    state = asked_for("a", "b", limits=replace(LIMITS, tool_concurrency=1, max_cost=3.0))
    (first,) = due(state)
    assert first.grant.cost == 1.0
    (second,) = due(then(begun(state), *ended("a", 1.0)))
    assert (second.action.id, second.grant.cost) == ("b", 1.0)


def test_one_that_a_crash_cut_keeps_its_grant_and_the_others_theirs() -> None:
    state = begun(asked_for("a", "b"))
    crashed = then(state, *recovery(state))
    assert allowance(crashed.ledger, LIMITS) == allowance(state.ledger, LIMITS), "it may have spent some of it"
    again = due(then(crashed, RunRequested()))
    assert [(command.attempt, command.child_id) for command in again] == [(2, "a-child"), (2, "b-child")]
    grants = [child.grant for child in state.ledger.children.values()]
    assert [command.grant for command in again] == grants
    assert allowance(begun(then(crashed, RunRequested())).ledger, LIMITS) == allowance(state.ledger, LIMITS)


def _closed(state: State) -> list[tuple[str, State]]:
    """Ways in which a delegation that a crash cut is never taken up again."""
    crashed, cut = then(state, *recovery(state)), then(state, InterruptEvent())
    refused = UserRejectObservation(action_id="a", tool_name="delegate", tool_call_id="")
    return [
        ("lost", then(state, *lost(state, "execute-a-1", "it crashed"))),
        ("interrupted", then(crashed, InterruptEvent(), *unfinished(crashed, "enough"))),
        ("rewound", then(crashed, HeadMoved(to=3))),
        ("refused", then(crashed, refused)),
        ("crashed while cut", then(cut, *recovery(cut))),
    ]


def test_one_that_is_never_taken_up_again_may_have_spent_all_of_its_grant() -> None:
    before = begun(asked_for("a"))
    left = allowance(before.ledger, LIMITS)
    for how, state in _closed(before):
        assert not any(child.open for child in state.ledger.children.values()), how
        assert allowance(state.ledger, LIMITS) == left, how
        assert state.ledger.cost == before.ledger.children["a-child"].grant.cost, how


def test_what_a_child_spent_counts_once() -> None:
    child, result = ended("a", 0.5)
    once = then(begun(asked_for("a")), child, result)
    assert then(once, child).ledger == once.ledger
    assert then(once, child).branch.steps == once.branch.steps


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6),
    st.integers(1, 3),
    st.floats(0, 2),
)
def test_grants_and_what_was_spent_are_never_above_the_budget(
    parts: list[tuple[float, float]], side_by_side: int, cost: float
) -> None:
    limits = replace(LIMITS, tool_concurrency=side_by_side)
    state = asked_for(*(f"a{n}" for n in range(len(parts))), limits=limits, cost=cost)
    for n, (spent, steps) in enumerate(parts):
        state = begun(state)
        left = allowance(state.ledger, limits)
        assert left.cost is not None
        assert left.tokens is not None
        assert left.cost >= -1e-9
        assert left.tokens >= 0
        assert used_steps(state) <= limits.max_steps
        grant = state.ledger.children[f"a{n}-child"].grant
        assert grant.cost is not None
        assert grant.steps is not None
        state = then(state, *ended(f"a{n}", grant.cost * spent, steps=int(grant.steps * steps)))


# The agent of a conversation that is delegated to


def child(**more: object) -> Child:
    return Child("a", "look", **more)  # type: ignore[arg-type]


def at(depth: int, agent: Agent) -> State:
    created, prompt = samples.beginning(agent)
    assert isinstance(created, ConversationCreated)
    return fold(samples.numbered([replace(created, depth=depth), prompt]))


def test_it_is_one_like_this_or_the_one_that_is_named_within_its_grant() -> None:
    guard, own = Hook(event=HookEvent.BEFORE_TOOL, command="guard"), Hook(event=HookEvent.STOP, command="own")
    greet = Hook(event=HookEvent.START, command="greet")
    limits = Limits(max_steps=5, max_cost=0.1)
    looker = Agent(llm=LLM(model="small"), tools=(Tool("look"),), limits=limits, hooks=(own,))
    state = at(0, replace(team(), agents={"looker": looker}, output={"type": "object"}, hooks=(greet, guard)))
    same = share_of(state, child(grant=Grant(1.0, None, 7)))
    assert (same.llm, same.limits.max_cost, same.limits.max_tokens, same.limits.max_steps) == (
        state.spec.llm, 1.0, 1000, 7,
    )  # fmt: skip
    assert same.output is None, "it answers the agent, not the program"
    named = share_of(state, child(agent="looker", grant=Grant(1.0, 50, 7)))
    assert (named.llm.model, named.limits.max_cost, named.limits.max_tokens, named.limits.max_steps) == (  # type: ignore[union-attr]
        "small", 0.1, 50, 5,
    )  # fmt: skip
    assert named.hooks == (guard, own), "and not what its parent does at its own start"
    with pytest.raises(ConfigurationError, match="agents to delegate to: .*looker"):
        share_of(state, child(agent="nobody"))


def test_levels_end_at_the_limit_and_the_deepest_cannot_delegate() -> None:
    agent = team(Limits(max_depth=2))
    assert Tool("delegate") in share_of(at(0, agent), child()).tools
    assert Tool("delegate") not in share_of(at(1, agent), child()).tools
    with pytest.raises(ConfigurationError, match="2 levels"):
        share_of(at(2, agent), child())


def test_a_share_of_a_share_is_less_at_each_level() -> None:
    agent, cost = team(Limits(max_cost=8.0, max_depth=4)), 8.0
    for depth in range(3):
        created, prompt = samples.beginning(agent)
        assert isinstance(created, ConversationCreated)
        first = [replace(created, depth=depth), prompt, samples.message(), RunRequested(), *calls(task("a"))]
        state = fold(samples.numbered(first))
        agent = share_of(begun(state), begun(state).ledger.children["a-child"])
        assert agent.limits.max_cost is not None
        assert agent.limits.max_cost == cost / 2
        cost = agent.limits.max_cost


def test_begun_once_and_started_once() -> None:
    state = begun(asked_for("a"))
    assert due(state) == []
    assert state.branch.pending[0].command == started(task("a")).command


def test_the_rules_of_the_one_that_delegates_hold_below() -> None:
    """A person who denies something at the top has denied it in the whole tree."""
    deny, allow = PermissionRule("deny", "terminal", "*push*"), PermissionRule("allow", "look")
    below = replace(samples.agent(), rules=(allow,))
    top = replace(samples.agent(), rules=(deny,), flow=InformationFlow(), agents={"looker": below})
    chosen = share_of(State(agent=top), Child("a", "look", "looker"))
    assert (chosen.rules, chosen.flow, chosen.analyzers) == ((deny, allow), InformationFlow(), ("rules",))
