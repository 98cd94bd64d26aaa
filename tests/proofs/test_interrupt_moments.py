"""Interrupts at two hundred moments of real runs: how soon each is durable, and what it leaves."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import anyio
import anyio.from_thread
import psutil
import pytest
from anyio.lowlevel import current_token

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Hook, HookEvent, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.decisions import decide
from agentrt.errors import ContextWindowExceeded, ModelError
from agentrt.events import AgentErrorEvent, CondensationRequest, Event, InterruptEvent, ModelCallStarted
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.state import State, fold
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, calls, finish
from tests.stores import directory

from .evidence import check_numbering, results
from .test_interrupt import SLACK, family, marked, unique_mark
from .waiting import eventually
from .worker import counting_tools

pytestmark = pytest.mark.real

MOMENTS = 200
SECONDS = 0.2
GONE_SECONDS = 2.0
LEAST = 5
"""Interrupts that each phase must have had for the proof to say something of it."""

TASK = "Begin run"


class Points:
    """A commit probe that can hold one commit at a point until an interrupt was asked for."""

    def __init__(self) -> None:
        self.wanted: str | None = None
        self.reached: Callable[[], None] = lambda: None
        self._open = threading.Event()

    def __call__(self, point: str) -> None:
        if point == self.wanted:
            self.wanted = None
            self._open.clear()
            self.reached()
            self._open.wait(0.02)

    def open(self) -> None:
        """Let the commit that is held go on."""
        self._open.set()


def phase(state: State) -> str:
    """What a conversation does."""
    here = state.branch
    if here.call is not None:
        return "model"
    running = [p.action.tool_name for p in here.pending if p.command is not None]
    if running:
        return "shell" if "terminal" in running else "tool"
    due = decide(state)
    return type(due[0]).__name__ if due else "at rest"


class Subject:
    """A conversation whose run has every phase: model calls, tools, a shell with children, hooks and a condensation."""

    def __init__(self, directory: Path, chance: random.Random, marks: list[str], slack: float) -> None:
        self.directory, self.chance, self.slack, self.points = directory, chance, slack, Points()
        self._steps: list[ModelReply | ModelError] = [
            call("count", number=1),
            call("terminal", command=family(directory, marks[0])),
            ContextWindowExceeded("the prompt is too long"),
            calls(("count", {"number": 2}), ("recount", {"number": 3})),
            ContextWindowExceeded("the prompt is too long again"),
            call(
                "terminal", command=f"setsid sleep {marks[1]}1 & env -i setsid -f sleep {marks[1]}2; sleep {marks[1]}0"
            ),
            finish("Done."),
        ]
        self._left: list[ModelReply | ModelError] = []
        self.runtime = Runtime(
            directory / "store", client=ScriptedLLM(self._turn, delay=0.004, keep=False), probe=self.points
        )
        hook = Hook(event=HookEvent.BEFORE_TOOL, matcher="count|terminal", command="sleep 0.03")
        self.agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), hooks=(hook,), stuck=None)

    def begin(self) -> None:
        """Give the model its steps anew, for another run."""
        self._left = list(self._steps)

    def _turn(self, request: ModelRequest) -> ModelReply | ModelError:
        told = plain(request.messages[-1].content)
        if len(self._left) > 1 and not told.startswith("The user") and self.chance.random() < 0.8:
            return self._left.pop(0)
        return self._left[0]


async def interrupt(subject: Subject, live: Conversation) -> tuple[str, float]:
    """Interrupt at a random moment; in which phase that was, and the seconds until the call returned."""
    chance, token, held = subject.chance, current_token(), anyio.Event()
    subject.points.reached = lambda: anyio.from_thread.run_sync(held.set, token=token)
    kind = chance.choice(["time", "time", "commit", "condensing", "call"])
    awaited: dict[str, type[Event]] = {"condensing": CondensationRequest, "call": ModelCallStarted}
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            async for event in live.run():
                if isinstance(event, awaited.get(kind, ())):
                    held.set()

        logged = _interrupts(read_conversation(directory(subject.runtime.store, live.id)))
        tasks.start_soon(run)
        if kind == "time":
            await anyio.sleep(chance.uniform(0.0, 0.15))
        else:
            if kind == "commit":
                subject.points.wanted = chance.choice(["taken", "written", "synced", "acknowledged"])
            with anyio.move_on_after(0.3):
                await held.wait()
        where = "committing" if kind == "commit" and held.is_set() else phase(live.state)
        begun = monotonic()
        await live.interrupt()
        took = monotonic() - begun
        subject.points.wanted = None
        subject.points.open()
        durable = read_conversation(directory(subject.runtime.store, live.id))
        assert _interrupts(durable) == logged + 1, "this one, and not one of an earlier moment"
    return where, took


def _interrupts(events: Sequence[Event]) -> int:
    return sum(isinstance(event, InterruptEvent) for event in events)


async def valid(subject: Subject, live: Conversation) -> list[Event]:
    """The log once all that was cut has ended: numbered, one result for every call, and what memory says."""
    await eventually(lambda: not live.state.in_flight, "the end of what was cut", GONE_SECONDS * subject.slack)
    events = read_conversation(directory(subject.runtime.store, live.id))
    check_numbering(events)
    outcomes = results(events)
    assert all("interrupted" in e.error.lower() for e in outcomes.values() if isinstance(e, AgentErrorEvent))
    assert fold(events).branch.pending == live.state.branch.pending
    return events


async def moments(directory: Path, count: int, seed: int, slack: float = SLACK) -> tuple[Counter[str], list[float]]:
    """Interrupt runs of one conversation so often; where that was, and how long each took."""
    chance = random.Random(seed)
    marks = [unique_mark(chance) for _ in range(2)]
    subject = Subject(directory, chance, marks, slack)
    where: Counter[str] = Counter()
    took: list[float] = []
    children, files = set(psutil.Process().children(recursive=True)), psutil.Process().num_fds()
    async with subject.runtime as runtime:
        async with Conversation(subject.agent, directory, tools=counting_tools(directory), runtime=runtime) as live:
            while len(took) < count:
                if live.state.status in (ExecutionStatus.FINISHED, ExecutionStatus.IDLE):
                    subject.begin()
                    await live.send_message(f"{TASK} {len(took)}.")
                place, seconds = await interrupt(subject, live)
                await valid(subject, live)
                await eventually(
                    lambda: not any(map(marked, marks)), "all that was cut is gone", GONE_SECONDS * subject.slack
                )
                if place != "at rest":
                    where[place] += 1
                    took.append(seconds)
            subject.begin()
            await live.send_message("The last time.")
            with anyio.fail_after(60):
                while live.state.status is not ExecutionStatus.FINISHED:
                    with anyio.move_on_after(0.5):
                        await live.run()
                    await live.interrupt()
                    await valid(subject, live)
    assert set(psutil.Process().children(recursive=True)) <= children
    assert psutil.Process().num_fds() == files
    return where, sorted(took)


async def test_some_moments(tmp_path: Path) -> None:
    where, took = await moments(tmp_path, 6, seed=1)
    assert where.total() == len(took) == 6


@pytest.mark.long
@pytest.mark.timed
async def test_two_hundred_moments(tmp_path: Path) -> None:
    where, took = await moments(tmp_path, MOMENTS, seed=2, slack=1.0)
    p99 = took[int(0.99 * len(took))]
    shown = f"median {1000 * took[len(took) // 2]:.0f} ms, p99 {1000 * p99:.0f} ms, most {1000 * took[-1]:.0f} ms"
    print(f"{len(took)} interrupts: {shown}; {dict(where)}")
    assert p99 < SECONDS, shown
    assert all(where[place] >= LEAST for place in ("model", "shell", "committing", "Condense", "RunHooks")), where
