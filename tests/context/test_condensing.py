"""Where a view may be cut."""

from __future__ import annotations

from hypothesis import given

from agentrt.context.condensing import cuts, forget_older_half, kept
from agentrt.context.messages import to_messages
from agentrt.events import Event, SecretsChanged
from agentrt.state import Seen, fold
from tests import samples
from tests.histories import histories


def view_of(pairs: int) -> list[Seen]:
    events: list[Event] = [samples.beginning()[1], samples.message()]
    for n in range(pairs):
        act = samples.action("look", f"r{n}")
        events += [act, samples.observation(act)]
    return samples.seen(events)


def test_a_call_is_never_parted_from_its_result() -> None:
    assert cuts(view_of(2)) == [0, 1, 2, 4, 6]


def test_the_older_half_is_forgotten_and_the_beginning_stays() -> None:
    view = view_of(10)
    condensation = forget_older_half(view)
    assert condensation is not None
    assert list(condensation.forgotten_event_ids) == [event.id for event in view[2:12]]
    assert "5 earlier actions and 0 messages were dropped" in condensation.summary


def test_the_task_is_kept_whatever_comes_before_it() -> None:
    begun, told = samples.beginning(), SecretsChanged(secrets={})
    actions = [samples.action(id=f"a{step}") for step in range(10)]
    steps = [event for action in actions for event in (action, samples.observation(action, "x"))]
    view = samples.seen(samples.numbered([*begun, told, samples.message("the task"), *steps]))
    condensation = forget_older_half(view)
    assert condensation is not None
    assert [seen.type for seen in view[: kept(view)]] == ["SystemPromptEvent", "SecretsChanged", "MessageEvent"]
    assert not {seen.id for seen in view[: kept(view)]} & set(condensation.forgotten_event_ids)


def test_a_view_of_one_step_cannot_be_cut() -> None:
    assert forget_older_half(view_of(1)) is None
    assert forget_older_half(view_of(0)) is None


@given(histories(steps=40))
def test_what_is_left_is_a_valid_history(events: list[Event]) -> None:
    state = fold(events)
    condensation = forget_older_half(list(state.branch.view))
    if condensation is None:
        return
    (numbered,) = samples.numbered([condensation], state.seq + 1)
    after = fold([numbered], start=state).branch.view
    assert len(after) <= len(state.branch.view)
    kept = {event.id for event in after}
    for message in to_messages(samples.look_up(after, [*events, numbered])):
        assert message.role != "tool" or message.tool_call_id is not None
    results = [seen for seen in after if seen.action_id]
    assert all(result.action_id in kept for result in results), "no result without its call"
