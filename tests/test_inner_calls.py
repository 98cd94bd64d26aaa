"""Calls that the code of an action makes: actions of their own, which the model does not see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from agentrt import (
    LLM,
    Agent,
    AlwaysConfirm,
    ClientTool,
    Conversation,
    ExecutionStatus,
    Hook,
    HookEvent,
    NeverConfirm,
    PermissionRule,
    Runtime,
    Tool,
)
from agentrt.errors import ToolError
from agentrt.events import (
    ActionEvent,
    AgentErrorEvent,
    Event,
    HookExecutionEvent,
    ModelCalled,
    ObservationEvent,
    RiskAssessed,
)
from agentrt.executing import Made
from agentrt.protocols import Observation, ToolContext
from agentrt.replaying import replay
from agentrt.specs import Limits, OnCrash
from agentrt.specs.content import plain, text
from agentrt.specs.effects import Effects
from agentrt.testing import ScriptedLLM, call, calls, finish
from agentrt.tools import ToolType, tool

pytestmark = pytest.mark.real

SECONDS = 20
Code = Callable[[ToolContext], Awaitable[str]]


class Cell(msgspec.Struct, frozen=True):
    """Nothing: what is run is the test's."""


class Runs:
    """Runs a function of the test's as the code of an action."""

    def __init__(self, code: Code) -> None:
        self._code = code

    async def __call__(self, action: Cell, context: ToolContext) -> Observation:
        if context.calls.resumed:
            made = await context.calls.made()
            return Observation(content=text("; ".join(map(said, made)) or "nothing was called"))
        return Observation(content=text(await self._code(context)))

    async def aclose(self) -> None: ...


def said(made: Made) -> str:
    match made.result:
        case ObservationEvent(content=content):
            return plain(content)
        case AgentErrorEvent(error=error):
            return error
        case rejected:
            return rejected.rejection_reason


def cell(code: Code) -> ToolType:
    return ToolType(
        "cell",
        "Run code.",
        Cell,
        executor=lambda params: Runs(code),
        effects=lambda action, workspace: Effects(),
        resources=lambda action, workspace: ("cell",),
        on_crash=OnCrash.RESUME,
    )


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool(resources=lambda action, workspace: ("*",))
def alone(number: int) -> int:
    """Needs all there is."""
    return number


async def twice(context: ToolContext) -> str:
    made = await asyncio.gather(*(context.calls.call("double", {"number": n}) for n in range(20)))
    return " ".join(map(said, made))


def runtime(place: Path, code: Code, model: ScriptedLLM, *more: Any) -> Runtime:
    return Runtime(place / "store", client=model, tools=(cell(code), *more))


def spec(*tools: Any, **given: Any) -> Agent:
    usual: dict[str, Any] = {"confirmation": NeverConfirm()}
    return Agent(llm=LLM(model="scripted"), tools=(Tool("cell"), *map(Tool, tools)), **usual | given)


async def events_of(conversation: Conversation) -> list[Event]:
    return [event async for event in conversation.events()]


def of(kind: type[Any], log: list[Event]) -> list[Any]:
    return [event for event in log if isinstance(event, kind)]


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_one_reply_does_twenty_calls_each_rated(tmp_path: Path, concurrency: int) -> None:
    model = ScriptedLLM([call("cell"), finish("ok")])
    agent = spec("double", analyzer="rules", limits=Limits(tool_concurrency=concurrency))
    with anyio.fail_after(SECONDS):
        async with runtime(tmp_path, twice, model, double) as at, Conversation(agent, tmp_path, runtime=at) as talk:
            await talk.send_message("go")
            state = await talk.run()
            log = await events_of(talk)
    assert state.status is ExecutionStatus.FINISHED, state.error
    outer, *inner, last = of(ActionEvent, log)
    assert [one.tool_name for one in (outer, *inner, last)] == ["cell", *["double"] * 20, "finish"]
    assert {(one.within, one.caused_by) for one in inner} == {(outer.id, outer.id)}
    assert {one.action_id for one in of(RiskAssessed, log)} >= {one.id for one in (outer, *inner)}
    results = {one.action_id: plain(one.content) for one in of(ObservationEvent, log)}
    assert [results[one.id] for one in inner] == [str(2 * n) for n in range(20)]
    assert results[outer.id] == " ".join(str(2 * n) for n in range(20))
    assert len(of(ModelCalled, log)) == len(model.requests) == 2
    shown = model.requests[-1].messages
    assert [c.name for message in shown for c in message.tool_calls] == ["cell"]
    assert [plain(message.content) for message in shown if message.role == "tool"] == [results[outer.id]]
    done = await replay(log)
    assert done.difference is None, done.difference


async def test_a_call_that_shares_everything_and_one_that_stands_behind_it(tmp_path: Path) -> None:
    async def code(context: ToolContext) -> str:
        made = [await context.calls.call("alone", {"number": n}) for n in range(2)]
        return " ".join(map(said, made))

    agent = spec("alone")
    model = ScriptedLLM([calls(("cell", {}), ("alone", {"number": 7}), ("cell", {})), finish("ok")])
    with anyio.fail_after(SECONDS):
        async with (
            runtime(tmp_path, code, model, alone) as at,
            Conversation(agent, tmp_path, runtime=at) as talk,
        ):
            await talk.send_message("go")
            state = await talk.run()
    assert state.status is ExecutionStatus.FINISHED, state.error
    assert [plain(m.content) for m in model.requests[-1].messages if m.role == "tool"] == ["0 1", "7", "0 1"]


async def test_what_cannot_be_called_is_told_to_the_code(tmp_path: Path) -> None:
    async def code(context: ToolContext) -> str:
        told = []
        for name, arguments in (("finish", {}), ("cell", {}), ("dance", {}), ("double", {"number": "x"})):
            with pytest.raises(ToolError) as refused:
                await context.calls.call(name, arguments)
            told.append(str(refused.value))
        return "\n".join(told)

    agent = spec("double")
    model = ScriptedLLM([call("cell"), finish("ok")])
    with anyio.fail_after(SECONDS):
        async with (
            runtime(tmp_path, code, model, double) as at,
            Conversation(agent, tmp_path, runtime=at) as talk,
        ):
            await talk.send_message("go")
            await talk.run()
    told = plain(model.requests[-1].messages[-1].content).split("\n")
    assert [line.split(";")[0] for line in told[:3]] == [
        f"unknown tool '{name}'" for name in ("finish", "cell", "dance")
    ]
    assert "tools to call here: double, think" in told[0]
    assert "the arguments of double do not fit" in told[3]


async def test_rules_hooks_and_a_person_have_their_say(tmp_path: Path) -> None:
    async def code(context: ToolContext) -> str:
        return " | ".join([said(await context.calls.call("double", {"number": n})) for n in (1, 2)])

    rules = (PermissionRule(tool="cell", verdict="allow"), PermissionRule(tool="double", verdict="ask"))
    hooks = (
        Hook(event=HookEvent.BEFORE_TOOL, command="true", matcher="double"),
        Hook(event=HookEvent.AFTER_TOOL, command="true"),
    )
    model = ScriptedLLM([call("cell"), finish("ok")])
    agent = spec("double", confirmation=AlwaysConfirm(), rules=rules, hooks=hooks)
    with anyio.fail_after(SECONDS):
        async with runtime(tmp_path, code, model, double) as at, Conversation(agent, tmp_path, runtime=at) as talk:
            await talk.send_message("go")
            for approve in (True, False):
                assert (await talk.run()).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
                (waiting,) = talk.pending_confirmation
                assert waiting.action.tool_name == "double"
                await (talk.confirm() if approve else talk.reject("no more"))
            state = await talk.run()
            log = await events_of(talk)
    assert state.status is ExecutionStatus.FINISHED, state.error
    assert plain(model.requests[-1].messages[-1].content) == "2 | no more"
    names = {action.id: action.tool_name for action in of(ActionEvent, log)}
    ran = [(one.hook_event.value, names[one.target]) for one in of(HookExecutionEvent, log) if one.target in names]
    assert ran.count(("before_tool", "double")) == 2
    assert ran.count(("after_tool", "double")) == 1
    done = await replay(log)
    assert done.difference is None, done.difference


async def test_a_person_answers_after_the_conversation_was_left(tmp_path: Path) -> None:
    """What the code has called goes on by itself, and the model is told of it."""

    async def code(context: ToolContext) -> str:
        return " ".join([said(await context.calls.call("double", {"number": n})) for n in (1, 2, 3)])

    rules = (PermissionRule(tool="double", verdict="ask"),)
    model = ScriptedLLM([call("cell"), finish("ok")])
    with anyio.fail_after(SECONDS):
        async with runtime(tmp_path, code, model, double) as at:
            async with Conversation(spec("double", rules=rules), tmp_path, runtime=at, id="c") as talk:
                await talk.send_message("go")
                assert (await talk.run()).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
                await talk.confirm()
                assert (await talk.run()).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        async with runtime(tmp_path, code, model, double) as at, Conversation(id="c", runtime=at) as talk:
            assert talk.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
            await talk.confirm()
            state = await talk.run()
            log = await events_of(talk)
    assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "ok"), state.error
    assert plain(model.requests[-1].messages[-1].content) == "2; 4"
    assert len(of(ActionEvent, log)) == 4, "the third call was not made"
    done = await replay(log)
    assert done.difference is None, done.difference


async def test_an_interrupt_ends_the_code_and_its_calls(tmp_path: Path) -> None:
    begun = anyio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await anyio.sleep_forever()
        return "never"

    async def code(context: ToolContext) -> str:
        await context.calls.call("wait", {})
        return "never"

    model = ScriptedLLM([call("cell"), finish("ok")])
    with anyio.fail_after(SECONDS):
        async with runtime(tmp_path, code, model, wait) as at, Conversation(spec("wait"), tmp_path, runtime=at) as talk:
            await talk.send_message("go")
            run = asyncio.ensure_future(talk.run())
            await begun.wait()
            await talk.interrupt("enough")
            await run
            log = await events_of(talk)
            assert not talk.state.branch.pending
            state = await talk.run()
    assert len(of(AgentErrorEvent, log)) == 2
    assert all("Interrupted" in one.error for one in of(AgentErrorEvent, log))
    assert state.status is ExecutionStatus.FINISHED


async def test_a_pause_does_not_wait_for_calls_that_wait_for_it(tmp_path: Path) -> None:
    model = ScriptedLLM([call("cell"), finish("ok")])
    begun, go = anyio.Event(), anyio.Event()

    async def code(context: ToolContext) -> str:
        begun.set()
        await go.wait()
        return said(await context.calls.call("double", {"number": 4}))

    with anyio.fail_after(SECONDS):
        async with runtime(tmp_path, code, model, double) as at:
            async with Conversation(spec("double"), tmp_path, runtime=at) as talk:
                await talk.send_message("go")
                run = asyncio.ensure_future(_rest(talk))
                await begun.wait()
                await talk.pause()
                go.set()
                assert (await run) is ExecutionStatus.PAUSED
                (outer, inner) = talk.state.branch.pending
                assert (outer.command is not None, inner.command) == (True, None)
                assert (await talk.run()).status is ExecutionStatus.FINISHED
    assert plain(model.requests[-1].messages[-1].content) == "8"


async def _rest(talk: Conversation) -> ExecutionStatus:
    return (await talk.run()).status


async def test_code_waits_for_the_result_of_a_client(tmp_path: Path) -> None:
    async def code(context: ToolContext) -> str:
        return said(await context.calls.call("press", {"label": "OK"}))

    press = ClientTool("press", "Press.", {"type": "object", "properties": {"label": {"type": "string"}}})
    model = ScriptedLLM([call("cell"), finish("ok")])
    with anyio.fail_after(SECONDS):
        async with runtime(tmp_path, code, model) as at:
            async with Conversation(spec(client_tools=(press,)), tmp_path, runtime=at) as talk:
                await talk.send_message("go")
                assert (await talk.run()).status is ExecutionStatus.WAITING_FOR_CLIENT
                (waiting,) = talk.pending_results
                await talk.give_result(waiting.action.id, "pressed")
                assert (await talk.run()).status is ExecutionStatus.FINISHED
    assert plain(model.requests[-1].messages[-1].content) == "pressed"
