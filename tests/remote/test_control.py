"""A person in control: the same tests for a conversation in this process and for one on a server."""

from __future__ import annotations

import pytest

from agentrt import LLM, Agent, AlwaysConfirm, ExecutionStatus, Limits, NeverConfirm, PermissionRule, Tool, tool
from agentrt.controls import Confirm, Interrupt, Pause, Rename, SendMessage, SetTags, StartRun
from agentrt.errors import ConfigurationError, ConversationBusy, ModelUnavailable
from agentrt.events import (
    ConfirmationGiven,
    ConversationStateUpdateEvent,
    ExecutionStarted,
    InterruptEvent,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    RuleAdded,
    RunRequested,
    TitleChanged,
    UserRejectObservation,
)
from agentrt.protocols import ModelRequest
from agentrt.specs import SecurityRisk
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.testing.scripted import Turn
from tests.steering import HeldModel, running

from .places import At, Local, everything

pytestmark = pytest.mark.real

MODEL = LLM(model="scripted")
PRICED = LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=2e-6, max_output_tokens=1000)
AGENT = Agent(llm=MODEL, tools=(Tool("greet"),))
CAREFUL = Agent(llm=MODEL, tools=(Tool("greet"),), confirmation=AlwaysConfirm())
DONE, WAITING = ExecutionStatus.FINISHED, ExecutionStatus.WAITING_FOR_CONFIRMATION


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


async def test_all_that_waits_is_approved(at: At) -> None:
    client = ScriptedLLM([calls(("greet", {"name": "Ada"}), ("greet", {"name": "Bob"})), finish("Done.")])
    async with at(client, tools=[greet]) as place, place.begin(CAREFUL) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is WAITING
        assert len(conversation.pending_confirmation) == 2
        await conversation.confirm()
        assert not conversation.pending_confirmation
        assert (await conversation.run()).status is DONE
        assert await conversation.confirm() == conversation.cursor, "nothing waits"
        events = await everything(conversation)
    assert [len(e.action_ids) for e in events if isinstance(e, ConfirmationGiven)] == [2]


async def test_a_batch_is_decided_action_by_action(at: At) -> None:
    client = ScriptedLLM([calls(("greet", {"name": "Ada"}), ("greet", {"name": "Bob"})), say("Done.")])
    async with at(client, tools=[greet]) as place, place.begin(CAREFUL) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        first, second = (pending.action.id for pending in conversation.pending_confirmation)
        await conversation.confirm(first)
        assert conversation.state.status is WAITING
        await conversation.reject("not him", second)
        assert (await conversation.run()).status is DONE
        events = await everything(conversation)
    assert [plain(e.content) for e in events if isinstance(e, ObservationEvent)] == ["Hello, Ada!"]
    assert [e.rejection_reason for e in events if isinstance(e, UserRejectObservation)] == ["not him"]
    assert any("not him" in plain(message.content) for message in client.requests[1].messages)


async def test_always_is_remembered(at: At) -> None:
    client = ScriptedLLM([call("greet", name="Ada"), call("greet", name="Bob"), say("Done.")])
    async with at(client, tools=[greet]) as place, place.begin(CAREFUL) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        await conversation.confirm(always="session")
        assert (await conversation.run()).status is DONE
        assert len(conversation.state.ledger.rules) == 1


async def test_a_rule_may_hold_in_the_workspace(at: At) -> None:
    rule = PermissionRule("allow", tool="greet")
    client = ScriptedLLM([call("greet", name="Ada"), say("Done.")])
    async with at(client, tools=[greet]) as place:
        async with place.begin(CAREFUL) as conversation:
            await conversation.add_rule(rule, "project")
        async with place.begin(CAREFUL) as conversation:
            assert [e.rule for e in await everything(conversation) if isinstance(e, RuleAdded)] == [rule]
            await conversation.send_message("go")
            assert (await conversation.run()).status is DONE


async def test_a_rule_may_be_taken_back(at: At) -> None:
    rule = PermissionRule("allow", tool="greet")
    client = ScriptedLLM([call("greet", name="Ada"), say("Done.")])
    async with at(client, tools=[greet]) as place:
        async with place.begin(CAREFUL) as conversation:
            await conversation.add_rule(rule, "project")
            await conversation.remove_rule(rule)
            assert (conversation.state.ledger.rules, conversation.state.ledger.withdrawn) == ((), (rule,))
            with pytest.raises(ConfigurationError, match="no such rule was added to this conversation"):
                await conversation.remove_rule(rule)
            await conversation.send_message("go")
            assert (await conversation.run()).status is WAITING
        async with place.begin(CAREFUL) as conversation:
            assert conversation.state.ledger.rules == (rule,), "the workspace remembers it"
            await conversation.remove_rule(rule, "project")
        async with place.begin(CAREFUL) as conversation:
            assert conversation.state.ledger.rules == ()


async def test_who_is_asked_can_be_changed(at: At) -> None:
    client = ScriptedLLM([call("greet", name="Ada"), say("Done.")])
    async with at(client, tools=[greet]) as place, place.begin(AGENT) as conversation:
        await conversation.set_confirmation_policy(AlwaysConfirm())
        assert conversation.state.spec.confirmation == AlwaysConfirm()
        await conversation.set_security_analyzer("rules")
        assert conversation.state.spec.analyzers == ("rules",)
        await conversation.send_message("go")
        assert (await conversation.run()).status is WAITING
        await conversation.set_confirmation_policy(NeverConfirm())
        await conversation.set_security_analyzer()
        assert conversation.state.spec.analyzer is None
        await conversation.confirm()
        assert (await conversation.run()).status is DONE


async def test_fields_of_the_agent_are_changed(at: At) -> None:
    async with at(ScriptedLLM([say("Hello.")])) as place, place.begin(Agent(llm=MODEL, tools=())) as conversation:
        await conversation.configure(limits=Limits(max_steps=3), busy="reject")
        assert (conversation.state.spec.limits.max_steps, conversation.state.spec.busy) == (3, "reject")
        for changes in ({"dance": 1}, {"tools": ()}, {"limits": 7}, {"analyzer": "oracle"}):
            with pytest.raises(ConfigurationError):
                await conversation.configure(**changes)
        other = LLM(model="other", temperature=0.5)
        await conversation.switch_llm(other)
        assert conversation.state.spec.llm == other
        updates = [e for e in await everything(conversation) if isinstance(e, ConversationStateUpdateEvent)]
        assert [e.key for e in updates] == ["limits", "busy", "llm"]


async def test_a_message_may_be_refused_while_it_works(at: At) -> None:
    model = HeldModel([finish("Done.")])
    async with at(model) as place, place.begin(Agent(llm=MODEL, tools=())) as conversation:
        await conversation.send_message("go")
        async with running(conversation):
            await model.calling()
            with pytest.raises(ConversationBusy):
                await conversation.send_message("and this", busy="reject")
            model.release()
        assert len([e for e in await everything(conversation) if isinstance(e, MessageEvent)]) == 1


async def test_secrets_are_given_changed_and_taken_back(at: At) -> None:
    turns = [
        call("terminal", command='test "$TOKEN" = ghp_012""3456789""abcdef && echo "it is $TOKEN"'),
        call("terminal", command='echo "now $OTHER, not $TOKEN."'),
        say("Done."),
        say("Done."),
    ]
    client = ScriptedLLM(turns[:1] + turns[2:3] + turns[1:2] + turns[3:])
    agent = Agent(llm=MODEL, tools=(Tool("terminal"),))
    async with at(client) as place:
        async with place.begin(agent, secrets={"TOKEN": "ghp_0123456789abcdef"}) as conversation:
            await conversation.send_message("go")
            await conversation.run()
            await conversation.update_secrets({"OTHER": "another-value", "TOKEN": None})
            assert set(conversation.state.ledger.secrets) == {"OTHER"}
            await conversation.send_message("go on")
            await conversation.run()
            shown = [plain(e.content) for e in await everything(conversation) if isinstance(e, ObservationEvent)]
    assert shown[0].startswith("it is <secret-hidden>")
    assert shown[1].startswith("now <secret-hidden>, not .")
    for path in place.workspace.parent.rglob("events.jsonl"):
        assert b"ghp_0123456789abcdef" not in path.read_bytes()


async def test_a_goal_is_judged_until_it_is_reached(at: At) -> None:
    verdicts = iter(
        ['{"score": 0.3, "complete": false, "missing": "the tests"}', '{"score": 1.0, "complete": true, "missing": ""}']
    )

    def script(request: ModelRequest) -> Turn:
        judges = plain(request.messages[0].content).startswith("You judge")
        return say(next(verdicts)) if judges else finish("Done.")

    async with at(ScriptedLLM(script)) as place, place.begin(Agent(llm=MODEL, tools=())) as conversation:
        with pytest.raises(ConfigurationError):
            await conversation.set_goal("All tests pass.", max_iterations=0)
        await conversation.set_goal("All tests pass.")
        await conversation.send_message("go")
        assert (await conversation.run()).status is DONE
        goal = conversation.state.ledger.goal
        assert goal is not None
        assert (goal.outcome, goal.iterations) == ("complete", 2)
        await conversation.set_goal("")
        assert conversation.state.ledger.goal is None


async def test_a_question_leaves_no_trace_but_its_cost(at: At) -> None:
    client = ScriptedLLM([say("Forty-two."), ModelUnavailable("down")])
    async with at(client) as place, place.begin(Agent(llm=PRICED, tools=())) as conversation:
        assert await conversation.ask_agent("What is it?") == "Forty-two."
        assert not any(isinstance(event, MessageEvent) for event in await everything(conversation))
        assert conversation.state.ledger.total.calls == 1
        with pytest.raises(ModelUnavailable, match="down"):
            await conversation.ask_agent("And now?")


async def test_a_title_is_made_and_given_and_tags_are_set(at: At) -> None:
    async with at(ScriptedLLM([say("The parser")])) as place, place.begin(Agent(llm=MODEL, tools=())) as conversation:
        await conversation.send_message("Mend the parser.")
        assert await conversation.generate_title() == "The parser"
        assert conversation.state.ledger.title == "The parser"
        await conversation.rename("Another\nname")
        await conversation.set_tags({"team": "core"})
        assert (conversation.state.ledger.title, conversation.state.ledger.tags) == ("Another name", {"team": "core"})
        with pytest.raises(ConfigurationError, match="small letters and digits"):
            await conversation.set_tags({"Team": "core"})


async def test_a_grant_lets_it_go_on(at: At) -> None:
    agent = Agent(llm=PRICED, tools=(Tool("greet"),), limits=Limits(max_cost=0.0001))
    async with at(ScriptedLLM([finish("Done.")]), tools=[greet]) as place, place.begin(agent) as conversation:
        await conversation.send_message("go")
        state = await conversation.run()
        assert (state.error and state.error.code) == "max_cost"
        with pytest.raises(ConfigurationError, match="from 0 to 1,000,000,000"):
            await conversation.grant(-1.0)
        await conversation.grant(1.0)
        state = await conversation.run()
        assert (state.status, state.ledger.granted) == (DONE, 1.0)


async def test_a_limit_of_steps_ends_the_run(at: At) -> None:
    client = ScriptedLLM(lambda request: call("greet", name=str(len(request.messages))))
    agent = Agent(llm=MODEL, tools=(Tool("greet"),), limits=Limits(max_steps=3))
    async with at(client, tools=[greet]) as place, place.begin(agent) as conversation:
        await conversation.send_message("go")
        state = await conversation.run()
        assert (state.status, state.error and state.error.code) == (ExecutionStatus.ERROR, "max_steps")
        assert len([e for e in await everything(conversation) if isinstance(e, ExecutionStarted)]) == 3


async def test_risks_are_in_the_state(at: At) -> None:
    agent = Agent(llm=MODEL, tools=(Tool("terminal"),), confirmation=AlwaysConfirm())
    async with at(ScriptedLLM([call("terminal", command="rm -rf /")])) as place, place.begin(agent) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        (pending,) = conversation.pending_confirmation
        assert (pending.risk, pending.held) == (SecurityRisk.HIGH, "every")


async def test_events_say_who_asked(at: At) -> None:
    model = HeldModel([call("greet", name="Ada")])
    async with at(model, tools=[greet]) as place, place.begin(CAREFUL) as conversation:
        if not isinstance(place, Local):
            with pytest.raises(ConfigurationError, match="leave `by` out"):
                await conversation.do(Pause(), by="ada")
            return
        for control in (SendMessage("hi"), Rename("A title"), SetTags({"a": "b"}), StartRun()):
            await conversation.do(control, by="ada")
        await model.calling()
        for other in (Pause(), Interrupt("enough"), Confirm()):
            await conversation.do(other, by="bob")
        events = await everything(conversation)
    asked = {type(event): event.by for event in events if event.by is not None}
    assert asked[MessageEvent] == asked[TitleChanged] == asked[RunRequested] == "ada"
    assert asked[PauseEvent] == asked[InterruptEvent] == "bob"
