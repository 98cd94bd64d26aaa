"""Where a view may be cut, and what of it is forgotten."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.context.condensing import (
    Cut,
    Room,
    against_the_laws,
    cut,
    cuts,
    head,
    maskable,
    most_tokens,
    reset,
)
from agentrt.context.messages import to_messages
from agentrt.events import (
    ActionEvent,
    Condensation,
    Event,
    MessageEvent,
    ObservationEvent,
    SecretsChanged,
    SkillActivated,
)
from agentrt.specs import LLMSummarizingCondenser
from agentrt.specs.content import text
from agentrt.state import Seen, fold, summarized
from tests import samples
from tests.histories import histories

pytestmark = pytest.mark.pure

HALF = Room(events=3)


def view_of(pairs: int) -> list[Seen]:
    events: list[Event] = [samples.beginning()[1], samples.message()]
    for n in range(pairs):
        act = samples.action("look", f"r{n}")
        events += [act, samples.observation(act)]
    return samples.seen(events)


def thinking(view: list[Seen], *places: int) -> list[Seen]:
    """The view with a provider's thought before the calls at these places, and nowhere else."""
    return [replace(seen, thinks=place in places) for place, seen in enumerate(view)]


def test_a_call_is_never_parted_from_its_result() -> None:
    assert cuts(view_of(2)) == [0, 1, 2, 4, 6]


def test_what_follows_on_a_thought_is_never_parted_from_it() -> None:
    assert cuts(thinking(view_of(3), 2)) == [0, 1, 2, 8]
    assert cuts(thinking(view_of(3), 2, 6)) == [0, 1, 2, 6, 8]
    assert cuts(thinking(view_of(3), 4)) == [0, 1, 2, 4, 8]


def test_as_much_is_forgotten_as_has_no_room() -> None:
    view = view_of(10)
    assert cut(view, 2, Room(events=11), 0.1) == Cut(2, 14)
    assert cut(view, 2, Room(events=1), 0.1) == Cut(2, 20), "the last batch stays"


def test_the_strictest_room_counts() -> None:
    view = [replace(seen, tokens=100) for seen in view_of(10)]
    by_tokens = cut(view, 2, Room(tokens=700, summary=100), 0.1)
    assert by_tokens == Cut(2, 18)
    assert cut(view, 2, Room(events=21, tokens=700, summary=100), 0.1) == by_tokens
    assert cut(view, 2, Room(events=5, tokens=700, summary=100), 0.1) == Cut(2, 20)


def test_what_makes_no_progress_is_no_cut() -> None:
    view = view_of(10)
    assert cut(view_of(1), 2, HALF, 0.1) is None
    assert cut(view_of(0), 2, HALF, 0.1) is None
    assert cut(view, 2, Room(events=21), 0.1) is None, "one event in the place of two is less than a tenth"
    large = [*view[:-2], *(replace(seen, tokens=100_000) for seen in view[-2:])]
    assert cut(large, 2, Room(tokens=500, summary=100), 0.1) is None, "all that is long is in the last batch"
    assert reset(large, 2, Room(tokens=50_000)) == Cut(2, len(large))


def test_the_first_events_go_as_well_where_they_leave_no_room() -> None:
    view = view_of(3)
    view[1] = replace(view[1], tokens=10_000)
    assert reset(view, 2, Room(tokens=5_000)) == Cut(1, 8)
    assert reset(view_of(0), 2, Room(tokens=5_000)) is None


def test_the_task_is_kept_whatever_comes_before_it() -> None:
    begun, told, asked = samples.beginning(), SecretsChanged(secrets={}), samples.message("the task")
    skill = SkillActivated(skill="s", cause=asked.id, content=text("Do it so."))
    actions = [samples.action(id=f"a{step}") for step in range(10)]
    steps = [event for action in actions for event in (action, samples.observation(action, "x"))]
    view = samples.seen(samples.numbered([*begun, told, asked, skill, *steps]))
    kept = view[: head(view, 2)]
    assert [seen.type for seen in kept] == ["SystemPromptEvent", "SecretsChanged", "MessageEvent", "SkillActivated"]
    assert head(view, 6) == 6
    assert head(view, 7) == 6, "half a batch is no beginning"


def test_a_summary_stands_behind_the_first_events_and_is_forgotten_with_the_next_cut() -> None:
    view = view_of(6)
    summary = replace(view[2], type="CondensationSummaryEvent", id="s")
    shorter = [*view[:2], summary, *view[8:]]
    assert head(shorter, 2) == 2
    assert head(shorter, 5) == 2, "it is none of them"
    assert cut(shorter, 2, Room(events=5), 0.1) == Cut(2, 7)
    assert head([view[0], summary, *view[8:]], 2) == 1


def test_the_window_bounds_what_a_view_may_have() -> None:
    assert most_tokens(LLMSummarizingCondenser(), 32_000) == 25_600
    assert most_tokens(LLMSummarizingCondenser(), 0) is None
    assert most_tokens(LLMSummarizingCondenser(max_tokens=5_000), 0) == 5_000
    assert most_tokens(LLMSummarizingCondenser(max_tokens=50_000), 32_000) == 25_600


def test_old_results_can_be_masked_and_new_ones_stay() -> None:
    view = [replace(seen, tokens=100) for seen in view_of(5)]
    assert maskable(view, 2) == [seen for seen in view if seen.action_id][:3]
    assert maskable(view, 5) == []


@pytest.mark.parametrize(
    ("forgotten", "wrong"),
    [
        ({0}, "the first events must stay"),
        ({1}, "the first events must stay"),
        ({2}, "together, or not at all"),
        ({3}, "together, or not at all"),
        ({2, 3}, None),
        ({4, 5, 6, 7}, None),
        (set(), None),
    ],
)
def test_what_one_of_ones_own_forgets_is_held_against_the_laws(forgotten: set[int], wrong: str | None) -> None:
    view = view_of(5)
    found = against_the_laws(view, {view[place].id for place in forgotten}, 2)
    assert found == wrong if wrong is None or found is None else wrong in found
    assert "not in the view" in (against_the_laws(view, {"x"}, 2) or "")


def thoughtful(view: list[Seen], draws: list[bool]) -> list[Seen]:
    """A view of which some replies come with a provider's thought: on the first call of a batch."""
    given = iter(draws)
    calls = (place > 0 and view[place - 1].type == "ActionEvent" for place in range(len(view)))
    return [
        replace(seen, thinks=seen.type == "ActionEvent" and not follows and next(given, False))
        for seen, follows in zip(view, calls, strict=True)
    ]


@given(histories(steps=40), st.lists(st.booleans()), st.integers(0, 30), st.integers(0, 3000), st.integers(0, 6))
def test_what_is_left_is_a_valid_history(
    events: list[Event], thoughts: list[bool], most: int, tokens: int, keep_first: int
) -> None:
    """The laws: the first events stay, each call has its batch and its result, and a thought what follows on it; there
    is one summary, behind the first ones; and what is left is shorter.
    """
    state = fold(events)
    if state.branch.pending:
        return
    view = thoughtful(list(state.branch.view), thoughts)
    room = Room(events=most or None, tokens=tokens or None, summary=10)
    at = cut(view, keep_first, room, 0.1) or reset(view, keep_first, room)
    if at is None:
        return
    first = head(view, keep_first)
    assert at.first == first or (at.first == 1 and at.end == len(view))
    gone = view[at.first : at.end]
    assert against_the_laws(view, {seen.id for seen in gone}, keep_first) is None or at.first == 1
    kept = [*view[: at.first], *view[at.end :]]
    calls, results = {s.id for s in kept if s.type == "ActionEvent"}, {s.action_id for s in kept if s.action_id}
    assert calls == results
    assert not any(seen.type == "CondensationSummaryEvent" for seen in kept), "it is summed up with the rest"
    for before, seen in pairwise(view[: at.end + 1]):
        if seen.type == "ActionEvent" and not seen.thinks and seen not in gone and before in gone:
            turn = [other for other in gone[_turn(gone) :] if other.thinks]
            assert not turn, "no call is left whose thought is forgotten"
    numbered = Condensation(
        seq=state.seq + 1, forgotten_event_ids=tuple(seen.id for seen in gone), summary="It went on."
    )
    after = fold([numbered], start=state).branch
    assert after.tokens == sum(seen.tokens for seen in after.view)
    assert [seen.type for seen in after.view].count("CondensationSummaryEvent") == 1
    assert after.view[at.first].id == summarized(numbered).id
    for message in to_messages(samples.look_up(after.view, [*events, numbered])):
        assert message.role != "tool" or message.tool_call_id is not None


def _turn(gone: list[Seen]) -> int:
    """Where the last turn of the agent begins."""
    ends = [place for place, seen in enumerate(gone) if seen.user or seen.type == "CondensationSummaryEvent"]
    return ends[-1] if ends else 0


def test_events_are_measured_by_what_they_say() -> None:
    words = "word " * 400
    told = replace(samples.message(words), tokens=500)
    assert isinstance(told, MessageEvent)
    act = samples.action("look", "r1")
    assert isinstance(act, ActionEvent)
    seen = samples.seen([samples.beginning()[1], told, act, replace(samples.observation(act), tokens=90)])
    assert seen[1].tokens == 504
    assert seen[3].tokens == 94
    assert isinstance(samples.observation(act), ObservationEvent)
