"""What stands in the place of what an agent no longer sees, and that the run goes on whatever becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from agentrt import (
    Agent,
    Condensed,
    Conversation,
    ExecutionStatus,
    Hook,
    HookEvent,
    HookInput,
    HookResult,
    Limits,
    LLMSummarizingCondenser,
    NoOpCondenser,
    ObservationMaskingCondenser,
    PipelineCondenser,
    Runtime,
    ToolType,
    tool,
)
from agentrt.context.condensing import Room
from agentrt.context.replies import ModelReply
from agentrt.errors import ContextWindowExceeded, ModelUnavailable
from agentrt.events import ActionEvent, CondensationSummaryEvent, Event, ModelCalled, ObservationEvent
from agentrt.protocols import ModelRequest
from agentrt.replaying import replay
from agentrt.specs import LLM, CondensationReason
from agentrt.specs.condensers import NamedCondenser
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.testing.scripted import Turn
from tests.condensing import SUMMARY, agent, condensations, is_question, look, looking

pytestmark = pytest.mark.simulated


async def lived(
    place: Path, spec: Agent, model: ScriptedLLM, tools: Sequence[Any] = (look,), **more: Any
) -> tuple[Any, list[Event]]:
    """The state at the end of a conversation, and its events."""
    async with Runtime(place / "s", client=model, **more) as runtime:
        async with Conversation(spec, place, tools=tools, runtime=runtime) as conversation:
            await conversation.send_message("Look at all places.")
            state = await conversation.run()
            return state, [event async for event in conversation.events()]


async def test_too_many_events_are_summed_up_and_the_model_goes_on_from_that(tmp_path: Path) -> None:
    model = looking(30)
    state, events = await lived(tmp_path, agent(), model)
    assert state.status is ExecutionStatus.FINISHED
    made = condensations(events)
    assert len(made) > 2
    assert {event.reason for event in made} == {CondensationReason.EVENTS}
    assert all(event.tokens_after < event.tokens_before and not event.problem for event in made)
    shown = [request for request in model.requests if not is_question(request)]
    assert max(len(request.messages) for request in shown) <= 21
    last = [plain(message.content) for message in shown[-1].messages]
    assert last[1] == "Look at all places."
    assert last[2].startswith("[This is a summary of ")
    assert "`recall` brings any of them back" in last[2]
    assert "## Task\nLook at all places." in last[2]
    assert "- src/place0.txt: look (#" in last[2]
    assert sum(text.startswith("[This is a summary") for text in last) == 1
    facts = made[-1].facts
    assert facts is not None
    gone = {name for event in made for name in event.forgotten_event_ids if not name.endswith("-summary")}
    assert facts.count == len(gone)
    assert facts.first == 7


async def test_it_is_asked_for_behind_what_the_model_was_sent_before(tmp_path: Path) -> None:
    model = looking(12)
    await lived(tmp_path, agent(), model)
    asked = next(place for place, request in enumerate(model.requests) if is_question(request))
    before, question, after = (request.messages for request in model.requests[asked - 1 : asked + 2])
    assert list(question[:-1]) == list(before[: len(question) - 1])
    assert list(after[:2]) == list(before[:2])
    assert model.requests[asked].tools == model.requests[asked - 1].tools


async def test_tokens_are_counted_as_the_provider_counts_them(tmp_path: Path) -> None:
    """It counts three times as many as are estimated."""

    def script(request: ModelRequest) -> Turn:
        if is_question(request):
            return say(SUMMARY)
        told = sum(len(plain(message.content)) for message in request.messages)
        turn = call("look", where=f"place {len(model.requests)}") if len(model.requests) < 40 else finish("Seen.")
        return ModelReply(text=turn.text, tool_calls=turn.tool_calls, usage=usage(told * 3 // 4))

    def usage(prompt: int) -> Any:
        from agentrt.usage import Usage

        sent.append(prompt)
        return Usage(prompt_tokens=prompt, completion_tokens=10)

    sent: list[int] = []
    model = ScriptedLLM(script)
    state, events = await lived(
        tmp_path, agent(LLMSummarizingCondenser(), llm=LLM(model="m", max_input_tokens=8000)), model
    )
    assert state.status is ExecutionStatus.FINISHED
    made = condensations(events)
    assert made
    assert {event.reason for event in made} == {CondensationReason.TOKENS}
    assert max(sent) < 8000
    assert all(event.tokens_before > 6400 * 0.9 and event.tokens_after <= 3600 for event in made)


async def test_what_the_model_called_too_long_is_never_sent_again_at_that_length(tmp_path: Path) -> None:
    sent: list[int] = []

    def script(request: ModelRequest) -> Turn:
        told = sum(len(plain(message.content)) for message in request.messages)
        sent.append(told)
        if told > 6000:
            return ContextWindowExceeded("too long")
        if is_question(request):
            return say(SUMMARY)
        steps = sum(not is_question(earlier) for earlier in model.requests)
        return call("look", where=f"place {steps}") if steps < 60 else finish("Seen.")

    model = ScriptedLLM(script)
    state, events = await lived(tmp_path, agent(LLMSummarizingCondenser()), model)
    assert state.status is ExecutionStatus.FINISHED
    assert len(condensations(events)) > 1
    refused = [place for place, told in enumerate(sent) if told > 6000]
    assert all(sent[place + 1] < sent[place] for place in refused)
    assert all(sent[place + 1] <= 6000 for place in refused)


FAILING: dict[str, tuple[Any, str]] = {
    "fails": (lambda request: ModelUnavailable("it is down"), "no model summed it up: it is down"),
    "says nothing": (lambda request: say(" "), "it answered with no summary"),
    "calls a tool": (lambda request: call("look", where="here"), "it answered with no summary"),
    "cannot read it": (lambda request: ContextWindowExceeded("too long"), "it was too long for it"),
}


@pytest.mark.parametrize("how", FAILING)
async def test_a_model_that_does_not_sum_up_is_said_to_and_the_run_goes_on(tmp_path: Path, how: str) -> None:
    summary, words = FAILING[how]
    model = looking(20, summary)
    state, events = await lived(tmp_path, agent(), model)
    assert state.status is ExecutionStatus.FINISHED
    made = condensations(events)
    assert made
    assert all(words in event.problem for event in made)
    assert all("src/place0.txt" in event.summary for event in made), "what can be found without it is there"
    if how == "cannot read it":
        asked = [
            sum(len(plain(m.content)) for m in request.messages) for request in model.requests if is_question(request)
        ]
        assert len(asked) == 6 * len(made)
        assert asked[1:6] == sorted(asked[1:6], reverse=True)


async def test_a_summary_that_is_longer_than_what_it_stands_for_is_cut(tmp_path: Path) -> None:
    model = looking(20, lambda request: say("## Decisions\n" + "- we went on and on and on\n" * 4000))
    state, events = await lived(tmp_path, agent(), model)
    assert state.status is ExecutionStatus.FINISHED
    assert condensations(events)
    assert all(event.tokens_after < event.tokens_before for event in condensations(events))


async def test_one_that_is_interrupted_is_made_again_with_the_next_run(tmp_path: Path) -> None:
    begun = anyio.Event()
    held = [True]

    class Slow(ScriptedLLM):
        async def complete(self, request: ModelRequest, watch: Any) -> ModelReply:
            if is_question(request) and held:
                begun.set()
                await anyio.sleep_forever()
            return await super().complete(request, watch)

    model = looking(12, kind=Slow)
    async with Runtime(tmp_path / "s", client=model) as runtime:
        async with Conversation(agent(), tmp_path, tools=[look], runtime=runtime) as conversation:
            await conversation.send_message("Look at all places.")
            await conversation.start_run()
            with anyio.fail_after(10):
                await begun.wait()
            await conversation.send_message("And at the last one twice.")
            await conversation.interrupt()
            assert not condensations([event async for event in conversation.events()])
            held.clear()
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
            events = [event async for event in conversation.events()]
    cut = [event for event in events if isinstance(event, ModelCalled) and event.usage_id == "condenser"]
    assert [event.error for event in cut] == ["interrupted", None]
    (made,) = condensations(events)
    shown = [plain(message.content) for message in model.requests[-1].messages]
    assert "And at the last one twice." in shown, "what came meanwhile stays"
    assert "And at the last one twice." not in made.summary


async def test_it_is_paid_from_the_budget_of_the_conversation(tmp_path: Path) -> None:
    priced = LLM(model="m", input_cost_per_token=1e-6, output_cost_per_token=1e-6, max_output_tokens=1000)
    state, events = await lived(tmp_path, agent(llm=priced, limits=Limits(max_cost=5.0)), looking(12))
    assert state.ledger.spending["condenser"].cost > 0
    assert state.ledger.cost == pytest.approx(sum(spent.cost for spent in state.ledger.spending.values()))
    poor = agent(llm=priced, limits=Limits(max_cost=0.0135))
    state, events = await lived(tmp_path / "poor", poor, looking(12))
    assert not [event for event in condensations(events) if "max_cost" not in event.problem and event.problem]


async def test_what_was_said_of_untrusted_content_keeps_its_labels(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", client=looking(12)) as runtime:
        async with Conversation(agent(), tmp_path, tools=[WEB], runtime=runtime) as conversation:
            await conversation.send_message("Look at all places.")
            state = await conversation.run()
            (made,) = condensations([event async for event in conversation.events()])
    assert made.labels == ("web",)
    assert state.branch.labels == ("web",)


WEB = ToolType(**{**vars(look), "labels": ("web",)}) if isinstance(look, ToolType) else look


async def test_secrets_are_in_no_summary(tmp_path: Path) -> None:
    model = looking(12, lambda request: say("## Decisions\n- the key is hunter2hunter2"))
    async with Runtime(tmp_path / "s", client=model) as runtime:
        secrets = {"KEY": "hunter2hunter2"}
        async with Conversation(agent(), tmp_path, tools=[look], runtime=runtime, secrets=secrets) as conversation:
            await conversation.send_message("Look at all places.")
            await conversation.run()
            (made,) = condensations([event async for event in conversation.events()])
    assert "the key is <secret-hidden>" in made.summary
    assert made.facts is not None
    assert "hunter2" not in repr(made)


async def test_nobody_condenses_where_that_is_off(tmp_path: Path) -> None:
    state, events = await lived(tmp_path, agent(NoOpCondenser()), looking(130))
    assert state.status is ExecutionStatus.FINISHED
    assert not condensations(events)
    turns: list[Turn] = [call("look", where="a"), ContextWindowExceeded("too long")]
    state, events = await lived(tmp_path / "b", agent(NoOpCondenser()), ScriptedLLM(turns))
    assert state.error.code == "context_window"
    assert "condenses nothing" in state.error.detail


async def test_old_output_is_masked_first_and_then_summed_up(tmp_path: Path) -> None:
    masking = ObservationMaskingCondenser(attention_window=2, max_tokens=8000)
    spec = agent(PipelineCondenser((masking, LLMSummarizingCondenser(max_tokens=8000))))
    model = looking(150)
    state, events = await lived(tmp_path, spec, model, tools=[gaze])
    assert state.status is ExecutionStatus.FINISHED
    made = condensations(events)
    assert any(event.masked_event_ids and not event.forgotten_event_ids for event in made)
    assert any(event.forgotten_event_ids for event in made)
    shown = [plain(message.content) for request in model.requests for message in request.messages]
    assert any("This output was left out" in words for words in shown)
    results = {event.id for event in events if isinstance(event, ObservationEvent)}
    assert all(name in results for event in made for name in event.masked_event_ids)


@tool(name="look")
async def gaze(where: str) -> str:
    """Look somewhere, and say all of it.

    Args:
        where: The place.
    """
    return f"{where}: " + "nothing but sand and stones. " * 100


class EveryOther:
    """Forgets the first batch after the beginning."""

    async def condense(self, view: Sequence[Event], room: Room) -> Condensed | None:
        """All actions but the last three, with their results, and the summary before."""
        actions = [event.id for event in view if isinstance(event, ActionEvent)][:-3]
        results = [event.id for event in view if isinstance(event, ObservationEvent) and event.action_id in actions]
        before = [event.id for event in view if isinstance(event, CondensationSummaryEvent)]
        return Condensed((*before, *actions, *results), "It looked around.")


class HalfABatch(EveryOther):
    async def condense(self, view: Sequence[Event], room: Room) -> Condensed | None:
        """An action without its result."""
        return Condensed(tuple(event.id for event in view if isinstance(event, ActionEvent))[:1], "no")


class Failing(EveryOther):
    async def condense(self, view: Sequence[Event], room: Room) -> Condensed | None:
        """Fails."""
        raise RuntimeError("on fire")


async def test_one_of_ones_own_is_named(tmp_path: Path) -> None:
    spec = agent(NamedCondenser(name="mine", max_size=20))
    state, events = await lived(tmp_path, spec, looking(20), condensers={"mine": EveryOther})
    assert state.status is ExecutionStatus.FINISHED
    made = condensations(events)
    assert [event.problem for event in made if event.problem] == []
    assert {event.summary.partition("\n\n")[2] for event in made} == {"It looked around."}
    assert not any(event.problem for event in made)
    assert [seen.type for seen in state.branch.view].count("CondensationSummaryEvent") == 1
    for kind, words in ((HalfABatch, "are forgotten together, or not at all"), (Failing, "RuntimeError: on fire")):
        place = tmp_path / kind.__name__
        state, events = await lived(place, spec, looking(20), condensers={"mine": kind})
        assert state.status is ExecutionStatus.FINISHED
        assert words in condensations(events)[0].problem
        assert all(event.problem and event.forgotten_event_ids for event in condensations(events))


async def test_one_that_nobody_knows_is_refused_before_anything_is_logged(tmp_path: Path) -> None:
    from agentrt import ConfigurationError

    with pytest.raises(ConfigurationError, match="unknown condenser 'mine'"):
        await lived(tmp_path, agent("mine"), looking(1))


async def test_a_person_may_ask_for_it_at_any_time(tmp_path: Path) -> None:
    model = looking(6)
    async with Runtime(tmp_path / "s", client=model) as runtime:
        async with Conversation(agent(), tmp_path, tools=[look], runtime=runtime) as conversation:
            await conversation.send_message("Look at all places.")
            await conversation.run()
            before = len(conversation.state.branch.view)
            await conversation.condense()
            await conversation.run()
            assert len(conversation.state.branch.view) <= before // 2 + 2
            (made,) = condensations([event async for event in conversation.events()])
            assert made.reason is CondensationReason.REQUEST


async def test_a_rewind_to_before_it_brings_all_back_and_a_fork_from_within_goes_on(tmp_path: Path) -> None:
    model = looking(200)
    spec = agent(limits=Limits(max_steps=14))
    async with Runtime(tmp_path / "s", client=model) as runtime:
        async with Conversation(spec, tmp_path, tools=[look], runtime=runtime) as conversation:
            await conversation.send_message("Look at all places.")
            await conversation.run()
            events = [event async for event in conversation.events()]
            first = condensations(events)[0]
            assert sum(seen.tokens for seen in conversation.state.branch.view) == conversation.state.branch.tokens
            fork = await conversation.fork(at=first.seq)
            await conversation.rewind(first.seq - 2)
            view = conversation.state.branch.view
            assert not any(seen.type == "CondensationSummaryEvent" for seen in view)
            assert sum(seen.tokens for seen in view) == conversation.state.branch.tokens
            assert conversation.state.branch.condensed == (0, 0)
            async with fork:
                view = fork.state.branch.view
                assert [seen.type for seen in view].count("CondensationSummaryEvent") == 1
                assert (await fork.run()).error.code == "max_steps"  # type: ignore[union-attr]


async def test_a_view_that_little_can_be_taken_from_is_not_condensed_over_and_over(tmp_path: Path) -> None:
    """The first message fills the window."""
    model = looking(30)
    spec = agent(LLMSummarizingCondenser(max_tokens=4000))
    async with Runtime(tmp_path / "s", client=model) as runtime:
        async with Conversation(spec, tmp_path, tools=[look], runtime=runtime) as conversation:
            await conversation.send_message("Look at all places. " + "Mind the dogs. " * 1200)
            state = await conversation.run()
            made = condensations([event async for event in conversation.events()])
    assert state.status is ExecutionStatus.FINISHED
    assert len(made) < 12


@pytest.mark.parametrize("bounds", [{"max_size": 20}, {"max_tokens": 1500}])
async def test_the_strictest_bound_of_a_pipeline_counts(tmp_path: Path, bounds: dict[str, Any]) -> None:
    stages = (ObservationMaskingCondenser(), LLMSummarizingCondenser(**bounds))
    state, events = await lived(tmp_path, agent(PipelineCondenser(condensers=stages)), looking(60))
    made = condensations(events)
    assert state.status is ExecutionStatus.FINISHED
    assert 3 <= len(made) <= 12
    assert all(event.forgotten_event_ids and not event.problem for event in made)


class Masking:
    """Takes the output out of all results; and once something that is none."""

    def __init__(self, more: tuple[str, ...] = ()) -> None:
        self._more = more

    async def condense(self, view: Sequence[Event], room: Room) -> Condensed | None:
        results = tuple(event.id for event in view if isinstance(event, ObservationEvent))
        return Condensed(masked=(*results, *self._more))


class Wordy:
    async def condense(self, view: Sequence[Event], room: Room) -> Any:
        return "nothing of that kind"


async def test_what_ones_own_masks_is_masked_and_what_is_no_answer_is_noted(tmp_path: Path) -> None:
    made = {"masks": Masking, "none": lambda: Masking(("nobody",)), "words": Wordy}
    for name, problem in (("masks", ""), ("none", "'nobody' is not a result"), ("words", "must return Condensed")):
        spec = agent(PipelineCondenser(condensers=(name,)), limits=Limits(max_steps=40))  # type: ignore[arg-type]
        spec = msgspec.structs.replace(spec, condenser=NamedCondenser(name=name, max_size=20))
        _, events = await lived(tmp_path / name, spec, looking(14), condensers=made)
        first = condensations(events)[0]
        assert problem in first.problem
        assert bool(first.masked_event_ids) is (name == "masks")


async def test_a_client_that_breaks_is_no_reason_to_stop(tmp_path: Path) -> None:
    def fails(request: ModelRequest) -> Turn:
        raise RuntimeError("on fire")

    state, events = await lived(tmp_path, agent(), looking(20, fails))
    assert state.status is ExecutionStatus.FINISHED
    assert all("RuntimeError: on fire" in event.problem for event in condensations(events))


async def test_what_waits_is_counted_and_no_condensation_is_empty(tmp_path: Path) -> None:
    """In a chat the message of the user is what makes the view too long."""
    script = iter(range(10_000))

    def answers(request: ModelRequest) -> Turn:
        return say(SUMMARY) if is_question(request) else say(f"Read document {next(script)}. " + "It is dull. " * 20)

    spec = agent(LLMSummarizingCondenser(max_size=21))
    model = ScriptedLLM(answers)
    async with Runtime(tmp_path / "s", client=model) as runtime:
        async with Conversation(spec, tmp_path, runtime=runtime) as conversation:
            for n in range(40):
                await conversation.prompt(f"Read this, number {n}: " + "words " * 60)
            events = [event async for event in conversation.events()]
    made = condensations(events)
    assert made
    assert all(event.forgotten_event_ids and event.tokens_after < event.tokens_before for event in made)
    assert max(len(request.messages) for request in model.requests if not is_question(request)) <= 22


async def test_a_view_that_nobody_may_condense_any_more_ends_the_run_once(tmp_path: Path) -> None:
    """It was refused, then made shorter, then its condenser was taken away, and it grew again."""
    turns: list[Turn] = [
        *(call("look", where=str(n)) for n in range(8)),
        ContextWindowExceeded("too long"),
        finish("a"),
    ]
    left = iter([*turns, finish("b")])
    model = ScriptedLLM(lambda request: say(SUMMARY) if is_question(request) else next(left))
    async with Runtime(tmp_path / "s", client=model) as runtime:
        async with Conversation(agent(), tmp_path, tools=[look], runtime=runtime) as conversation:
            await conversation.prompt("go")
            await conversation.configure(condenser=NoOpCondenser())
            await conversation.send_message("words " * 4000)
            with anyio.fail_after(10):
                state = await conversation.run()
            assert conversation.state.seq < 120
            assert state.status in (ExecutionStatus.ERROR, ExecutionStatus.FINISHED)


async def test_what_must_stay_is_not_condensed_at_every_step(tmp_path: Path) -> None:
    state, events = await lived(tmp_path, agent(LLMSummarizingCondenser(max_tokens=250)), looking(40))
    assert state.status is ExecutionStatus.FINISHED
    assert len(condensations(events)) <= 20


async def test_each_call_for_a_summary_is_shorter_than_what_was_refused(tmp_path: Path) -> None:
    refused: list[int] = []

    def size(request: ModelRequest) -> int:
        return sum(len(plain(m.content)) + sum(len(c.arguments) for c in m.tool_calls) for m in request.messages)

    done = iter(range(60))

    def script(request: ModelRequest) -> Turn:
        if size(request) > 6000:
            refused.append(size(request))
            return ContextWindowExceeded("too long")
        assert not refused or size(request) < min(refused) + 900, "but for the question of 900 characters"
        return say(SUMMARY) if is_question(request) else call("look", where=f"place{next(done)}")

    spec = agent(LLMSummarizingCondenser(), limits=Limits(max_steps=50))
    _, events = await lived(tmp_path, spec, ScriptedLLM(script))
    assert condensations(events)
    assert len(refused) <= 12


async def test_a_summary_that_is_no_unicode_is_cleaned(tmp_path: Path) -> None:
    state, events = await lived(tmp_path, agent(), looking(20, lambda request: say("## Task\nA \ud800 thing.")))
    assert state.status is ExecutionStatus.FINISHED
    assert not any(event.problem for event in condensations(events))


async def test_a_recorded_condenser_of_ones_own_is_replayed_without_it(tmp_path: Path) -> None:
    spec = agent(NamedCondenser(name="mine", max_size=20))
    _, events = await lived(tmp_path, spec, looking(20), condensers={"mine": EveryOther})
    done = await replay(events, [look])
    assert done.difference is None, done.difference


async def test_what_a_hook_denied_is_not_recalled(tmp_path: Path) -> None:
    async def says(given: HookInput) -> HookResult | None:
        return HookResult(verdict="deny", reason="no cards") if "4111" in str(given.message) else None

    turns: list[Turn] = [call("recall", query="4111"), call("recall", event=4), finish("Done.")]
    left = iter(turns)
    spec = agent(hooks=(Hook(event=HookEvent.USER_MESSAGE, function="says"),))
    async with Runtime(tmp_path / "s", client=ScriptedLLM(lambda request: next(left)), hooks={"says": says}) as runtime:
        async with Conversation(spec, tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("my card is 4111")
            await conversation.run()
            await conversation.send_message("what was it?")
            await conversation.run()
            events = [event async for event in conversation.events()]
    shown = [plain(event.content) for event in events if isinstance(event, ObservationEvent)]
    assert len(shown) >= 2
    assert not any("my card" in words for words in shown)
