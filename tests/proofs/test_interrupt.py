"""interrupt() cuts a model call down to its socket and a command down to its last process, and the log stays valid."""

from __future__ import annotations

import random
import shlex
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import psutil
import pytest

from agentrt import LLM, Agent, Conversation, Delta, Event, ExecutionStatus, Runtime, Tool, ToolType
from agentrt.actors.core import RestartPolicy
from agentrt.context.replies import ModelReply
from agentrt.events import (
    ActionEvent,
    AgentErrorEvent,
    ExecutionStarted,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ObservationEvent,
)
from agentrt.protocols import ToolExecutor
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, ScriptedProvider, Stall, call, calls, finish, say
from agentrt.tools.definition import Params
from tests.stores import directory

from .evidence import check_numbering, number_of, results
from .waiting import eventually
from .worker import COUNTED, counting_tools, steps_taken

pytestmark = pytest.mark.real

NAME = "interrupted"

SECONDS = 0.2
"""How long an interrupt may take."""

GONE_SECONDS = 2.0
"""How long something of what was cut may live."""

SLACK = 10.0
"""How many times as long both may take where other tests run beside it."""

FAMILY = """\
import os, signal, time

if os.fork() == 0:
    os.setsid()
elif os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
elif os.fork() == 0:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
time.sleep(100)
"""
"""A parent with a child in a session of its own, a daemon, and a child that only SIGKILL ends."""


def family(workspace: Path, mark: str) -> str:
    """A command that starts children of every kind and sleeps: six processes with the mark."""
    program = workspace / "family.py"
    program.write_text(FAMILY)
    python = shlex.join([sys.executable, "-S", str(program), mark])
    return f"setsid sleep {mark}1 & {python} & sleep {mark}0"


def unique_mark(chance: random.Random) -> str:
    """A number of seconds, over 100, that is an argument of no other process."""
    return f"100.{chance.randrange(10**12):012}"


def marked(mark: str) -> list[int]:
    """The processes that live and have an argument that begins with `mark`."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments = process.info["cmdline"] or ()
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(given.startswith(mark) for given in arguments):
            found.append(process.pid)
    return found


class Subject:
    """A conversation that is interrupted, and its log file. The times are `slack` times as long where others run beside
    it.
    """

    def __init__(self, conversation: Conversation, directory: Path, slack: float = SLACK) -> None:
        self.conversation, self.directory, self.slack = conversation, directory, slack

    async def interrupt(self) -> None:
        """Interrupt in time; the intent is in the file when the call returns."""
        before, begun = self.conversation.state.seq, time.monotonic()
        await self.conversation.interrupt()
        took = time.monotonic() - begun
        assert any(isinstance(event, InterruptEvent) for event in read_conversation(self.directory)[before:])
        assert took < SECONDS * self.slack, f"the interrupt took {1000 * took:.0f} ms"

    async def at_rest(self) -> list[Event]:
        """Wait until nothing is in flight; the log is valid then: numbered, with one result for every call."""
        await eventually(
            lambda: not self.conversation.state.in_flight, "the end of what was cut", GONE_SECONDS * self.slack
        )
        events = read_conversation(self.directory)
        await eventually(lambda: self.conversation.state.seq >= len(events), "what is durable is visible")
        check_numbering(events)
        outcomes = results(events)
        assert set(outcomes) == {event.id for event in events if isinstance(event, ActionEvent)}
        errors = [outcome.error for outcome in outcomes.values() if isinstance(outcome, AgentErrorEvent)]
        assert all("interrupted" in error.lower() for error in errors), errors
        assert [event async for event in self.conversation.events()][: len(events)] == events
        return events


@asynccontextmanager
async def begun(runtime: Runtime, agent: Agent, workspace: Path, slack: float = SLACK) -> AsyncIterator[Subject]:
    """A conversation with its first message."""
    async with runtime:
        tools = counting_tools(workspace)
        async with Conversation(agent, workspace, id=NAME, tools=tools, runtime=runtime) as conversation:
            await conversation.send_message("Begin.")
            yield Subject(conversation, directory(runtime.store, NAME), slack)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # litellm's own
@pytest.mark.parametrize("shown", ["", "First I will look"])
async def test_a_model_call(tmp_path: Path, shown: str) -> None:
    """Before its first word and in the middle of its text."""
    async with ScriptedProvider(lambda body: say("Done.") if provider.dropped else Stall(shown)) as provider:
        agent = Agent(llm=provider.llm(), tools=())
        async with begun(Runtime(tmp_path / "store"), agent, tmp_path) as subject:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_until, subject.conversation, shown)
                with anyio.fail_after(30):
                    await eventually(lambda: provider.active == 1, "a request", 30)
            await subject.interrupt()
            await eventually(lambda: provider.dropped == 1, "the provider sees the client go")
            await eventually(lambda: not connections(provider), "the socket is closed")
            events = await subject.at_rest()
            partial = [plain(e.content) for e in events if isinstance(e, MessageEvent) and e.partial]
            assert partial == ([shown] if shown else [])
            assert [e.error for e in events if isinstance(e, ModelCalled)] == ["interrupted"]
            assert subject.conversation.state.status is ExecutionStatus.PAUSED

            state = await subject.conversation.run()
            assert state.status is ExecutionStatus.FINISHED, state.error
            await subject.at_rest()
        assert (len(provider.requests), provider.dropped) == (2, 1)


async def read_until(conversation: Conversation, shown: str) -> None:
    """Run, and read until this text was shown; then leave the run alone."""
    text = ""
    if not shown:
        await conversation.run().stream().__anext__()
        return
    async for event in conversation.run().stream():
        text += event.text if isinstance(event, Delta) else ""
        if text.startswith(shown):
            return


def connections(provider: ScriptedProvider) -> list[object]:
    """This process' open connections to the provider, of both ends."""
    port = int(provider.base_url.rsplit(":", 1)[1].split("/")[0])
    found = psutil.Process().net_connections("tcp")
    return [c for c in found if c.status == psutil.CONN_ESTABLISHED and port in (c.laddr[1], *c.raddr[1:2])]


async def test_a_command_and_all_that_it_started(tmp_path: Path) -> None:
    mark = unique_mark(random.Random(str(tmp_path)))
    steps = (
        call("terminal", command=family(tmp_path, mark)),
        call("terminal", command="echo goes on"),
        finish("Done."),
    )
    model = ScriptedLLM(lambda request: steps[steps_taken(request)])
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
    async with begun(Runtime(tmp_path / "store", client=model), agent, tmp_path) as subject:
        async for event in subject.conversation.run():
            if isinstance(event, ActionEvent):
                break
        await eventually(lambda: len(marked(mark)) == 6, "the command's six processes")
        await subject.interrupt()
        await eventually(lambda: not marked(mark), "all of the command is gone", GONE_SECONDS * SLACK)
        events = await subject.at_rest()
        (cut,) = (event.error for event in events if isinstance(event, AgentErrorEvent))
        assert cut.startswith("Interrupted")

    runtime = Runtime(tmp_path / "store", client=model)
    async with runtime, Conversation(id=NAME, tools=counting_tools(tmp_path), runtime=runtime) as conversation:
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        events = await Subject(conversation, subject.directory).at_rest()
        shown = [plain(e.content) for e in events if isinstance(e, ObservationEvent) and e.tool_name == "terminal"]
        assert len(shown) == 1
        assert "goes on" in shown[0]


class Nothing(msgspec.Struct, frozen=True):
    """No arguments."""


async def test_a_call_that_waits_for_its_tool(tmp_path: Path) -> None:
    """What was cut before it began is told as cut, not as failed."""
    tried: list[Params] = []

    def broken(params: Params) -> ToolExecutor:
        tried.append(params)
        raise RuntimeError("not yet")

    tool = ToolType(name="broken", description="Cannot start.", action=Nothing, executor=broken)
    model = ScriptedLLM([call("broken"), finish("Done.")])
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("broken"),))
    runtime = Runtime(tmp_path / "store", client=model, tools=[tool], restarts=RestartPolicy(backoff=60.0))
    async with begun(runtime, agent, tmp_path) as subject:
        async for event in subject.conversation.run():
            if isinstance(event, ExecutionStarted):
                break
        await eventually(lambda: tried, "a first attempt to start the tool")
        await subject.interrupt()
        await subject.at_rest()
        assert (await subject.conversation.run()).status is ExecutionStatus.FINISHED


async def interrupted_at_random(directory: Path, seed: int, slack: float = SLACK) -> None:
    """Interrupt a run again and again, at any moment of its model calls, its tools and its shell, until it finishes.

    Its last step may be cut, too: then it is taken again.
    """
    chance = random.Random(seed)
    marks = [unique_mark(chance) for _ in range(2)]
    steps = _steps(directory, marks)
    model = ScriptedLLM(lambda request: steps[min(steps_taken(request), len(steps) - 1)], delay=0.004)
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
    children, open_before = set(psutil.Process().children(recursive=True)), psutil.Process().num_fds()
    async with begun(Runtime(directory / "store", client=model), agent, directory, slack) as subject:
        while subject.conversation.state.status is not ExecutionStatus.FINISHED:
            with anyio.move_on_after(chance.uniform(0.0, 0.12)):
                await subject.conversation.run()
            assert subject.conversation.state.status is not ExecutionStatus.ERROR, subject.conversation.state.error
            await subject.interrupt()
            await subject.at_rest()
            await eventually(lambda: not any(map(marked, marks)), "all that was cut is gone", GONE_SECONDS * slack)
        _check_counted(directory, await subject.at_rest())
    assert set(psutil.Process().children(recursive=True)) <= children
    assert psutil.Process().num_fds() == open_before


def _steps(workspace: Path, marks: Sequence[str]) -> tuple[ModelReply, ...]:
    first, second = marks
    return (
        call("count", number=1),
        call("terminal", command=family(workspace, first)),
        calls(("count", {"number": 2}), ("recount", {"number": 3})),
        call("terminal", command=f"setsid sleep {second}1 & sleep {second}0"),
        call("count", number=4),
        finish("All is counted."),
    )


def _check_counted(workspace: Path, events: Sequence[Event]) -> None:
    """What has an observation ran once, what was cut at most once."""
    file = workspace / COUNTED
    counted = Counter(map(int, file.read_text().split() if file.exists() else ()))
    outcomes = results(events)
    for action in events:
        if isinstance(action, ActionEvent) and action.tool_name in ("count", "recount"):
            done = isinstance(outcomes[action.id], ObservationEvent)
            assert counted[number_of(action) or 0] in ((1,) if done else (0, 1)), action


@pytest.mark.parametrize("seed", range(3))
async def test_a_few_moments(tmp_path: Path, seed: int) -> None:
    await interrupted_at_random(tmp_path, seed)


@pytest.mark.long
@pytest.mark.timed
@pytest.mark.parametrize("seed", range(100, 140))
async def test_any_moment(tmp_path: Path, seed: int) -> None:
    await interrupted_at_random(tmp_path, seed, slack=1.0)
