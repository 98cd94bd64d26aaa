"""Conversations whose agents have hooks."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec
import pytest

from agentrt import (
    LLM,
    Agent,
    ConfirmRisky,
    Conversation,
    Event,
    Hook,
    HookEvent,
    HookInput,
    HookResult,
    Rating,
    Runtime,
    SecurityRisk,
    tool,
)
from agentrt.actors.hooks import MAX_DENIALS
from agentrt.events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    ExecutionStarted,
    HookExecutionEvent,
    MessageEvent,
    ObservationEvent,
    RiskAssessed,
    UserRejectObservation,
)
from agentrt.hooks import HookFunction
from agentrt.protocols import ModelRequest
from agentrt.specs import WorkspaceSpec
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.testing.scripted import Turn

from .crashed import crashed
from .proofs.waiting import eventually
from .sandboxes.living import is_held
from .steering import running

pytestmark = pytest.mark.real

T = TypeVar("T", bound=Event)

MODEL = LLM(model="scripted")


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


def shell(event: HookEvent, command: str, **fields: object) -> Hook:
    return Hook(event=event, command=command, **fields)  # type: ignore[arg-type]


def python(event: HookEvent, name: str = "hook", **fields: object) -> Hook:
    return Hook(event=event, function=name, **fields)  # type: ignore[arg-type]


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def of_kind(events: Iterable[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def heard(request: ModelRequest) -> list[str]:
    """What a model was told, message by message, without its instructions."""
    return [plain(message.content) for message in request.messages[1:]]


class Noting:
    """A hook that notes what it is given, and says what it was told to, the last of it again and again."""

    def __init__(self, *results: HookResult | None) -> None:
        self._results = list(results) or [None]
        self.given: list[HookInput] = []

    async def __call__(self, given: HookInput) -> HookResult | None:
        self.given.append(given)
        return self._results.pop(0) if len(self._results) > 1 else self._results[0]


class Holding:
    """A hook that waits until it is let go on; it notes how often it was run and cut."""

    def __init__(self) -> None:
        self.waits, self.go_on = anyio.Event(), anyio.Event()
        self.runs = self.cut = 0

    async def __call__(self, given: HookInput) -> HookResult | None:
        self.runs += 1
        self.waits.set()
        try:
            await self.go_on.wait()
        except anyio.get_cancelled_exc_class():
            self.cut += 1
            raise
        return None


class Talk:
    """A conversation with its model."""

    def __init__(self, conversation: Conversation, model: ScriptedLLM) -> None:
        self.conversation, self.model = conversation, model

    async def run(self, words: str = "Greet Ada.") -> list[Event]:
        await self.conversation.send_message(words)
        return [event async for event in self.conversation.run()]

    @property
    def status(self) -> str:
        return self.conversation.state.status.value


@asynccontextmanager
async def talking(
    folder: Path,
    hooks: Sequence[Hook],
    turns: Iterable[Turn],
    functions: Mapping[str, HookFunction] = {},
    *,
    store: Path | None = None,
    id: str | None = None,
    analyzers: Mapping[str, Callable[[], object]] = {},
    **fields: object,
) -> AsyncIterator[Talk]:
    """A new conversation, or one that is opened again by its id."""
    model = ScriptedLLM(turns)
    store = store or folder / "store"
    async with Runtime(store, client=model, tools=[greet], hooks=functions, analyzers=analyzers) as runtime:  # type: ignore[arg-type]
        spec = Agent(llm=MODEL, tools=(), hooks=tuple(hooks), **fields)  # type: ignore[arg-type]
        opened = (
            Conversation(id=id, runtime=runtime)
            if id is not None
            else Conversation(spec, folder, runtime=runtime, tools=[greet], id="c")
        )
        async with opened as conversation:
            yield Talk(conversation, model)


DENY = [
    pytest.param("echo 'nobody is greeted' >&2; exit 2", None, id="exit-2"),
    pytest.param("""echo '{"decision": "deny", "reason": "nobody is greeted"}'""", None, id="json"),
    pytest.param(None, HookResult(verdict="deny", reason="nobody is greeted"), id="function"),
]


@pytest.mark.parametrize(("command", "result"), DENY)
async def test_a_denied_action_does_not_run_and_the_model_is_told_why(
    tmp_path: Path, command: str | None, result: HookResult | None
) -> None:
    hook = python(HookEvent.BEFORE_TOOL) if command is None else shell(HookEvent.BEFORE_TOOL, command, matcher="greet")
    turns = [call("greet", name="Ada"), say("I may not.")]
    async with talking(tmp_path, [hook], turns, {"hook": Noting(result)}) as talk:
        events = await talk.run()
        assert talk.status == "finished"
        assert not of_kind(events, ExecutionStarted)
        (refused,) = of_kind(events, UserRejectObservation)
        assert (refused.source, refused.rejection_reason) == ("hook", "nobody is greeted")
        (ran,) = of_kind(events, HookExecutionEvent)
        assert (ran.verdict, ran.hook_event, ran.target) == ("deny", HookEvent.BEFORE_TOOL, refused.action_id)
        assert heard(talk.model.requests[1])[-1] == "This action was rejected: nobody is greeted"


async def test_hooks_are_run_for_the_tools_that_they_match(tmp_path: Path) -> None:
    hook, other = Noting(), Noting()
    hooks = [python(HookEvent.BEFORE_TOOL, matcher="gr.*"), python(HookEvent.BEFORE_TOOL, "other", matcher="think")]
    async with talking(
        tmp_path, hooks, [call("greet", name="Ada"), say("Done.")], {"hook": hook, "other": other}
    ) as talk:
        events = await talk.run()
    (given,) = hook.given
    assert other.given == []
    assert (given.event_type, given.session_id, given.working_dir) == (HookEvent.BEFORE_TOOL, "c", str(tmp_path))
    assert (given.tool_name, msgspec.json.decode(given.tool_input)) == ("greet", {"name": "Ada"})
    assert of_kind(events, ObservationEvent)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_hook_can_have_a_person_asked_also_over_a_restart(tmp_path: Path, approved: bool) -> None:
    hook = Noting(HookResult(verdict="ask", reason="is Ada known?"))
    hooks = [python(HookEvent.BEFORE_TOOL)]
    async with talking(tmp_path, hooks, [call("greet", name="Ada")], {"hook": hook}) as talk:
        await talk.run()
        assert talk.status == "waiting_for_confirmation"
    async with talking(tmp_path, hooks, [say("Done.")], {"hook": hook}, id="c") as talk:
        (waiting,) = talk.conversation.pending_confirmation
        assert waiting.action.tool_name == "greet"
        await (talk.conversation.confirm() if approved else talk.conversation.reject("no"))
        await talk.conversation.run()
        assert talk.status == "finished"
        assert heard(talk.model.requests[0])[-1] == ("Hello, Ada!" if approved else "This action was rejected: no")
    assert len(hook.given) == 1, "what a person was asked about is not asked again"


class Wary:
    """Finds that root must not be greeted."""

    async def assess(self, action: ActionEvent, workspace: WorkspaceSpec) -> Rating:
        return Rating(SecurityRisk.HIGH if b"root" in bytes(action.arguments_json) else SecurityRisk.LOW, "")


@pytest.mark.parametrize("rewritten", ["root", "Grace"])
async def test_rewritten_arguments_are_rated_asked_about_and_run(tmp_path: Path, rewritten: str) -> None:
    before = Noting(HookResult(arguments=raw({"name": rewritten})))
    after = Noting()
    hooks = [python(HookEvent.BEFORE_TOOL), python(HookEvent.AFTER_TOOL, "after")]
    turns = [call("greet", name="root" if rewritten == "Grace" else "Ada"), say("Done.")]
    async with talking(
        tmp_path,
        hooks,
        turns,
        {"hook": before, "after": after},
        analyzers={"wary": Wary},
        analyzer="wary",
        confirmation=ConfirmRisky(),
    ) as talk:
        events = await talk.run()
        assert len(of_kind(events, ActionRevised)) == 1
        (rated,) = of_kind(events, RiskAssessed)
        assert rated.risk is (SecurityRisk.HIGH if rewritten == "root" else SecurityRisk.LOW)
        if rewritten == "root":
            (waiting,) = talk.conversation.pending_confirmation
            assert msgspec.json.decode(waiting.action.arguments_json) == {"name": "root"}, (
                "a person sees what would run"
            )
            await talk.conversation.confirm()
            await talk.conversation.run()
        assert heard(talk.model.requests[1])[-1] == f"Hello, {rewritten}!"
    assert len(before.given) == 1
    (given,) = after.given
    assert msgspec.json.decode(given.tool_input) == {"name": rewritten}, "what it ran with"
    assert msgspec.json.decode(given.tool_response, type=dict[str, object])["content"] == f"Hello, {rewritten}!"


async def test_a_call_that_is_rewritten_into_none_is_denied(tmp_path: Path) -> None:
    hook = Noting(HookResult(arguments=raw({"nickname": 7})))
    hooks = [python(HookEvent.BEFORE_TOOL)]
    async with talking(tmp_path, hooks, [call("greet", name="Ada"), say("Done.")], {"hook": hook}) as talk:
        events = await talk.run()
        (refused,) = of_kind(events, UserRejectObservation)
        assert "a hook rewrote the call into one that cannot run" in refused.rejection_reason
        assert of_kind(events, HookExecutionEvent)[0].verdict == "deny"


@pytest.mark.parametrize(
    "command", ["""echo '{"additionalContext": "Ada is away."}'""", "echo 'Ada is away.' >&2; exit 2"]
)
async def test_what_a_hook_says_after_a_tool_is_seen_by_the_model(tmp_path: Path, command: str) -> None:
    hooks = [shell(HookEvent.AFTER_TOOL, command)]
    async with talking(tmp_path, hooks, [call("greet", name="Ada"), say("Oh.")]) as talk:
        await talk.run()
        assert heard(talk.model.requests[1])[-2:] == ["Hello, Ada!", "Ada is away."]
        assert talk.status == "finished"


async def test_what_a_hook_says_of_the_last_call_does_not_begin_it_again(tmp_path: Path) -> None:
    hook = Noting(HookResult(context="by the way"))
    hooks = [python(HookEvent.BEFORE_TOOL)]
    async with talking(tmp_path, hooks, [call("greet", name="Ada"), finish("Done.")], {"hook": hook}) as talk:
        await talk.run()
        assert talk.status == "finished"
        assert heard(talk.model.requests[1])[-2:] == ["Hello, Ada!", "by the way"]


async def test_hooks_of_a_batch_see_each_action(tmp_path: Path) -> None:
    before, after = Noting(), Noting()
    hooks = [python(HookEvent.BEFORE_TOOL), python(HookEvent.AFTER_TOOL, "after")]
    turns = [calls(("greet", {"name": "Ada"}), ("greet", {"name": "Grace"})), say("Done.")]
    async with talking(tmp_path, hooks, turns, {"hook": before, "after": after}) as talk:
        await talk.run()
    for hook in (before, after):
        assert [bytes(given.tool_input) for given in hook.given] == [b'{"name":"Ada"}', b'{"name":"Grace"}']


async def test_a_denied_message_ends_the_run_and_the_model_never_sees_it(tmp_path: Path) -> None:
    hook = Noting(HookResult(verdict="deny", reason="not on a Sunday", context="nobody hears this"), None)
    hooks = [python(HookEvent.USER_MESSAGE)]
    async with talking(tmp_path, hooks, [say("Hello.")], {"hook": hook}) as talk:
        events = await talk.run("first")
        assert talk.status == "finished"
        (ran,) = of_kind(events, HookExecutionEvent)
        assert (ran.verdict, ran.reason) == ("deny", "not on a Sunday")
        assert talk.model.requests == []
        await talk.run("second")
        assert heard(talk.model.requests[0]) == ["second"]
    assert [given.message for given in hook.given] == ["first", "second"]


async def test_a_message_that_is_denied_meanwhile_does_not_end_the_task(tmp_path: Path) -> None:
    said, holding = Noting(None, HookResult(verdict="deny", reason="not now")), Holding()
    hooks = [python(HookEvent.USER_MESSAGE), python(HookEvent.AFTER_TOOL, "holding")]
    turns = [call("greet", name="Ada"), say("Greeted.")]
    async with talking(tmp_path, hooks, turns, {"hook": said, "holding": holding}) as talk:
        await talk.conversation.send_message("Greet Ada.")
        async with running(talk.conversation):
            await holding.waits.wait()
            await talk.conversation.send_message("Stop that.")
            holding.go_on.set()
        assert heard(talk.model.requests[1]) == ["Greet Ada.", "", "Hello, Ada!"]
        assert talk.status == "finished"


async def test_what_hooks_say_of_a_message_and_at_the_start_is_seen(tmp_path: Path) -> None:
    hooks = [
        shell(HookEvent.START, "echo It is Sunday."),
        shell(HookEvent.USER_MESSAGE, """grep -q Ada && echo Ada is a person."""),
    ]
    async with talking(tmp_path, hooks, [say("Hello."), say("Hello again.")]) as talk:
        await talk.run()
        assert heard(talk.model.requests[0]) == ["Greet Ada.", "It is Sunday.", "Ada is a person."]
        events = await talk.run("Ada again.")
        assert [event.hook_event for event in of_kind(events, HookExecutionEvent)] == [HookEvent.USER_MESSAGE]
        assert heard(talk.model.requests[1])[-2:] == ["Ada again.", "Ada is a person."]


async def test_the_hooks_of_start_and_end_run_each_time_that_it_is_opened_and_used(tmp_path: Path) -> None:
    start, end = Noting(HookResult(context="It begins.")), Noting(HookResult(verdict="deny", reason="too late"))
    hooks = [python(HookEvent.START), python(HookEvent.END, "end")]
    functions = {"hook": start, "end": end}
    async with talking(tmp_path, hooks, [say("One."), say("Two.")], functions) as talk:
        await talk.run()
        await talk.run()
        assert (len(start.given), len(end.given)) == (1, 0)
    assert len(end.given) == 1
    async with talking(tmp_path, hooks, [say("Three.")], functions, id="c") as talk:
        seq = talk.conversation.state.seq
        await talk.run()
        assert len(start.given) == 2
    async with talking(tmp_path, hooks, [], functions, id="c") as talk:
        ended = [event async for event in talk.conversation.events(seq)]
    assert of_kind(ended, HookExecutionEvent)[-1].runs[0].hook == "end"


async def test_the_hooks_of_the_start_run_again_where_nobody_said_the_end(tmp_path: Path) -> None:
    hooks, start = [python(HookEvent.START)], Noting()
    async with talking(tmp_path, hooks, [say("One.")], {"hook": start}) as talk:
        await talk.run()
    async with talking(tmp_path, hooks, [say("Two.")], {"hook": start}, id="c") as talk:
        await talk.run()
    assert len(start.given) == 2


async def test_a_hook_keeps_the_agent_from_finishing(tmp_path: Path) -> None:
    hook = Noting(HookResult(verdict="deny", reason="the tests fail"), HookResult(context="nobody hears this"))
    hooks = [python(HookEvent.STOP)]
    turns = [finish("Done."), call("greet", name="Ada"), say("Done now.")]
    async with talking(tmp_path, hooks, turns, {"hook": hook}) as talk:
        await talk.run()
        assert talk.status == "finished"
        assert heard(talk.model.requests[1])[-1] == "the tests fail"
        assert len(talk.model.requests) == 3
        assert (await talk.conversation.run()).status == "finished"
        assert len(talk.model.requests) == 3, "an agent that may finish is told nothing"
    first, second = hook.given
    assert (first.message, first.metadata) == ("Done.", {"stop_hook_active": False, "denials": 0})
    assert (second.message, second.metadata) == ("Done now.", {"stop_hook_active": False, "denials": 0})


async def test_a_hook_that_never_lets_an_idle_agent_finish_ends_the_run(tmp_path: Path) -> None:
    hook = Noting(HookResult(verdict="deny", reason="not yet"))
    turns = [say("Done."), finish("Done."), *(say("Done.") for _ in range(MAX_DENIALS))]
    async with talking(tmp_path, [python(HookEvent.STOP)], turns, {"hook": hook}) as talk:
        await talk.run()
        assert talk.status == "error"
        error = talk.conversation.state.error
        assert error is not None
        assert error.code == "stop_hook"
        assert "hook 'hook' kept the agent from finishing 4 times in a row" in error.detail
    assert [given.metadata["denials"] for given in hook.given] == [0, 1, 2, 3]
    assert len(talk.model.requests) == 4


@pytest.mark.parametrize(
    ("on_failure", "last"), [("deny", "This action was rejected: hook 'sleep 60' failed"), ("ignore", "Hello, Ada!")]
)
async def test_a_hook_that_takes_too_long_denies_unless_it_is_ignored(
    tmp_path: Path, on_failure: str, last: str
) -> None:
    hooks = [shell(HookEvent.BEFORE_TOOL, "sleep 60", timeout=0.1, on_failure=on_failure)]
    async with talking(tmp_path, hooks, [call("greet", name="Ada"), say("Done.")]) as talk:
        events = await talk.run()
        assert heard(talk.model.requests[1])[-1].startswith(last)
        (ran,) = of_kind(events, HookExecutionEvent)
        assert ran.runs[0].error == "it took longer than 0.1 s"


async def test_an_interrupt_cuts_a_hook_at_once_and_the_run_goes_on(tmp_path: Path) -> None:
    command = "exec 9> held; flock -n 9; echo $$ >> pids; trap '' TERM; test -e quick || sleep 60"
    hooks = [shell(HookEvent.BEFORE_TOOL, command)]
    turns = [call("greet", name="Ada"), call("greet", name="Ada"), say("Done.")]
    async with talking(tmp_path, hooks, turns) as talk:
        await talk.conversation.send_message("Greet Ada.")
        async with running(talk.conversation):
            await eventually((tmp_path / "pids").exists, "the hook runs")
            begun = time.monotonic()
            await talk.conversation.interrupt()
            assert time.monotonic() - begun < 20, "it does not wait for the hook"
        assert talk.status == "paused"
        (tmp_path / "quick").touch()
        events = [event async for event in talk.conversation.run()]
        assert talk.status == "finished"
        assert "Not run: the user interrupted." in heard(talk.model.requests[1])[-1]
        assert of_kind(events, ObservationEvent)
        await eventually(lambda: not is_held(tmp_path / "held"), "the process is gone")


async def test_a_hook_that_is_still_being_cut_is_run_again_and_fails_nothing(tmp_path: Path) -> None:
    """It ignores every signal but the last, so it ends long after the run was resumed."""
    hooks = [shell(HookEvent.USER_MESSAGE, "echo $$ >> pids; trap '' TERM; test -e quick || sleep 60")]
    async with talking(tmp_path, hooks, [say("Done.")]) as talk:
        await talk.conversation.send_message("Hello.")
        async with running(talk.conversation):
            await eventually((tmp_path / "pids").exists, "the hook runs")
            (tmp_path / "quick").touch()
            await talk.conversation.send_message("Quick!", busy="interrupt")
        assert talk.status == "finished", talk.conversation.state.error
        assert heard(talk.model.requests[0]) == ["Hello.", "Quick!"]
        assert len((tmp_path / "pids").read_text().split()) == 3


async def test_a_pause_lets_a_hook_end_and_keeps_what_it_says(tmp_path: Path) -> None:
    holding = Holding()
    hooks = [python(HookEvent.BEFORE_TOOL)]
    async with talking(tmp_path, hooks, [call("greet", name="Ada"), say("Done.")], {"hook": holding}) as talk:
        await talk.conversation.send_message("Greet Ada.")
        async with running(talk.conversation):
            await holding.waits.wait()
            await talk.conversation.pause()
            seq = talk.conversation.state.seq
            holding.go_on.set()
        with anyio.fail_after(30):
            async for event in talk.conversation.stream(seq):
                assert isinstance(event, HookExecutionEvent)
                break
        assert talk.status == "paused"
        await talk.conversation.run()
        assert talk.status == "finished"
    assert (holding.runs, holding.cut) == (1, 0)


async def test_after_a_crash_hooks_run_again_for_what_is_still_due(tmp_path: Path) -> None:
    holding = Holding()
    hooks = [python(HookEvent.BEFORE_TOOL)]
    async with talking(tmp_path, hooks, [call("greet", name="Ada")], {"hook": holding}) as talk:
        await talk.conversation.send_message("Greet Ada.")
        async with running(talk.conversation):
            await holding.waits.wait()
            copy = crashed(tmp_path / "store", tmp_path / "crashed")
            await talk.conversation.interrupt()
    again = Noting(HookResult(arguments=raw({"name": "Grace"})))
    async with talking(tmp_path, hooks, [say("Done.")], {"hook": again}, store=copy, id="c") as talk:
        assert talk.status == "paused"
        await talk.conversation.run()
        assert heard(talk.model.requests[0])[-1] == "Hello, Grace!"
    assert len(again.given) == 1


async def test_closing_while_a_hook_runs_leaves_nothing_open(tmp_path: Path) -> None:
    holding, end = Holding(), Noting()
    hooks = [python(HookEvent.BEFORE_TOOL), python(HookEvent.END, "end")]
    async with talking(tmp_path, hooks, [call("greet", name="Ada")], {"hook": holding, "end": end}) as talk:
        await talk.conversation.send_message("Greet Ada.")
        async for event in talk.conversation.run():
            if isinstance(event, ActionEvent):
                break
        await holding.waits.wait()
    assert (holding.cut, len(end.given)) == (1, 1)
    async with talking(tmp_path, hooks, [say("Done.")], {"hook": Noting(), "end": end}, id="c") as talk:
        events = [event async for event in talk.conversation.events()]
        assert len(of_kind(events, AgentErrorEvent)) == 1
        await talk.conversation.run()
        assert talk.status == "finished"


async def test_hooks_can_be_changed_while_it_is_open(tmp_path: Path) -> None:
    async with talking(tmp_path, [], [call("greet", name="Ada"), say("Done.")]) as talk:
        await talk.conversation.configure(hooks=(shell(HookEvent.BEFORE_TOOL, "echo no >&2; exit 2"),))
        events = await talk.run()
        assert [event.rejection_reason for event in of_kind(events, UserRejectObservation)] == ["no"]
        assert not [event for event in of_kind(events, MessageEvent) if event.source == "hook"]


class Slow:
    """An analyzer that rates what it was given first only once it is told to, by the words in it."""

    def __init__(self) -> None:
        self.begun, self.goes_on = anyio.Event(), anyio.Event()

    async def assess(self, action: ActionEvent, scene: object) -> Rating:
        """LOW for a greeting, HIGH for anything else."""
        if not self.begun.is_set():
            self.begun.set()
            await self.goes_on.wait()
        low = "hello" in bytes(action.arguments_json).decode()
        return Rating(SecurityRisk.LOW if low else SecurityRisk.HIGH)


async def test_a_rating_of_the_arguments_before_a_rewrite_does_not_count_for_those_after_it(tmp_path: Path) -> None:
    async def rewrite(given: HookInput) -> HookResult:
        return HookResult(arguments=msgspec.Raw(b'{"name":"rm -rf /"}'))

    slow = Slow()
    agent = Agent(llm=MODEL, tools=(), analyzer="slow", confirmation=ConfirmRisky())
    client = ScriptedLLM([call("greet", name="hello"), say("Well.")])
    runtime = Runtime(tmp_path / "store", client=client, analyzers={"slow": lambda: slow}, hooks={"rewrite": rewrite})
    async with runtime, Conversation(agent, tmp_path, runtime=runtime, tools=[greet]) as conversation:
        await conversation.send_message("greet")
        async with running(conversation):
            await slow.begun.wait()
            await conversation.configure(hooks=(Hook(event=HookEvent.BEFORE_TOOL, function="rewrite"),))
            await eventually(lambda: any(p.revised for p in conversation.state.branch.pending), "rewritten")
            slow.goes_on.set()
        (waiting,) = conversation.pending_confirmation
        assert bytes(waiting.action.arguments_json) == b'{"name":"rm -rf /"}'
        events = [event async for event in conversation.events()]
        assert [event.risk for event in events if isinstance(event, RiskAssessed)] == [SecurityRisk.HIGH]
        assert not any(isinstance(event, ExecutionStarted) for event in events)


async def test_a_rating_of_an_analyzer_that_was_replaced_does_not_count(tmp_path: Path) -> None:
    class Strict:
        async def assess(self, action: ActionEvent, scene: object) -> Rating:
            return Rating(SecurityRisk.HIGH, "strict")

    slow = Slow()
    agent = Agent(llm=MODEL, tools=(), analyzer="slow", confirmation=ConfirmRisky())
    client = ScriptedLLM([call("greet", name="hello"), say("Well.")])
    runtime = Runtime(tmp_path / "store", client=client, analyzers={"slow": lambda: slow, "strict": Strict})
    async with runtime, Conversation(agent, tmp_path, runtime=runtime, tools=[greet]) as conversation:
        await conversation.send_message("greet")
        async with running(conversation):
            await slow.begun.wait()
            await conversation.set_security_analyzer("strict")
            slow.goes_on.set()
        assert len(conversation.pending_confirmation) == 1
        ratings = [event.reason async for event in conversation.events() if isinstance(event, RiskAssessed)]
        assert ratings == ["strict"]
