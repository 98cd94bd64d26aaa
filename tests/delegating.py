"""Conversations that delegate, with a model whose words depend on the task that it is asked to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Limits, Runtime, Tool, ToolType, tool
from agentrt.context.replies import ModelReply
from agentrt.events import ActionEvent, ChildStarted, ModelCalled, ModelCallStarted
from agentrt.ledger import Ledger
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.state import State
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, calls
from agentrt.usage import Spending, total
from tests.stores import directory

TOP = "top"
PRICED = LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=1e-5, max_output_tokens=1000)

Play = Sequence[ModelReply | Callable[[ModelRequest], ModelReply]]
"""What the model says to a task, one reply a step; one may depend on what it is told."""


def delegate(*tasks: str, **given: Any) -> ModelReply:
    """A turn that delegates each task, side by side."""
    return calls(*(("delegate", {"task": task, **given}) for task in tasks))


def task_of(request: ModelRequest) -> str:
    """The task of the conversation that asks."""
    return next(plain(message.content) for message in request.messages if message.role == "user")


def steps_taken(request: ModelRequest) -> int:
    """How many steps the model has asked for; the same before a restart and after it."""
    return sum(bool(message.tool_calls) for message in request.messages)


def told(request: ModelRequest) -> list[str]:
    """The results that the model sees."""
    return [plain(message.content) for message in request.messages if message.role == "tool"]


def model(plays: Mapping[str, Play]) -> ScriptedLLM:
    """A model that plays each task from where the messages end."""

    def script(request: ModelRequest) -> ModelReply:
        said = [plain(message.content) for message in request.messages if message.role == "user"]
        turn = plays[next((text for text in said if text in plays), said[0])][steps_taken(request)]
        return turn if isinstance(turn, ModelReply) else turn(request)

    return ScriptedLLM(script)


def agent(limits: Limits = Limits(tool_concurrency=4), **given: Any) -> Agent:
    """An agent that delegates, and has a shell."""
    return Agent(**{"llm": PRICED, "tools": (Tool("delegate"), Tool("terminal")), "limits": limits, **given})


class Barrier:
    """A tool, `meet`: it returns once so many calls of it are under way."""

    def __init__(self, parties: int) -> None:
        self.parties, self.here, self.gone = parties, 0, 0
        self.full = anyio.Event()

    @property
    def tool(self) -> ToolType:
        """The tool."""

        @tool
        async def meet(name: str) -> str:
            """Meet the others."""
            self.here += 1
            if self.here >= self.parties:
                self.full.set()
            await self.full.wait()
            self.gone += 1
            return f"{name} met the others"

        return meet


class Gate:
    """A tool, `hold`: it says that it is there, and returns once it may."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.open = anyio.Event()

    @property
    def tool(self) -> ToolType:
        """The tool."""

        @tool
        async def hold(name: str) -> str:
            """Wait."""
            self.entered.append(name)
            await self.open.wait()
            return f"{name} went through"

        return hold


class Family:
    """A conversation that delegates, and the logs of all below it."""

    def __init__(self, conversation: Conversation, runtime: Runtime) -> None:
        self.top, self.runtime = conversation, runtime

    @property
    def state(self) -> State:
        """That of the top."""
        return self.top.state

    def log(self, conversation_id: str = TOP) -> list[Event]:
        """What is on disk of a conversation."""
        return read_conversation(directory(self.runtime.store, conversation_id))

    def below(self, conversation_id: str = TOP) -> dict[str, str]:
        """The ids of what a conversation delegated, by the task."""
        return {task: child_id for child_id, task in self._started(conversation_id).items()}

    def _started(self, conversation_id: str) -> dict[str, str]:
        return {e.child_id: e.task for e in self.log(conversation_id) if isinstance(e, ChildStarted)}

    def id_of(self, task: str, conversation_id: str = TOP) -> str:
        """The conversation that works on a task, wherever it stands."""
        found = self._find(task, conversation_id)
        assert found is not None, task
        return found

    def _find(self, task: str, conversation_id: str) -> str | None:
        for name, child_id in self.below(conversation_id).items():
            if name == task:
                return child_id
            if self._begun(child_id) and (found := self._find(task, child_id)) is not None:
                return found
        return None

    def _begun(self, conversation_id: str) -> bool:
        return (directory(self.runtime.store, conversation_id) / "events.jsonl").exists()

    def all(self, conversation_id: str = TOP) -> list[list[Event]]:
        """The logs of the whole tree."""
        below = [name for name in self._started(conversation_id) if self._begun(name)]
        return [self.log(conversation_id), *(log for name in below for log in self.all(name))]

    def spent(self) -> Spending:
        """What the logs of the whole tree say was spent."""
        return spent(self.all())


def spent(logs: Iterable[Sequence[Event]]) -> Spending:
    """What model calls used, summed."""
    called = [event for log in logs for event in log if isinstance(event, ModelCalled)]
    return total(Spending(1, event.usage, event.cost or 0.0, 0, event.latency) for event in called if event.usage.total)


def check_sums(family: Family) -> None:
    """Law: the ledger at the top has what the logs of the tree say, and nothing is held any more."""
    check_ledger(family.state.ledger, family.all())


def check_ledger(ledger: Ledger, logs: Collection[Sequence[Event]]) -> int:
    """The same law, for the logs of a tree and the ledger at its top. Return how many model calls were begun."""
    whole = spent(logs)
    assert ledger.cost == pytest.approx(whole.cost)
    assert ledger.usage.total == whole.usage.total
    assert not ledger.reserved
    assert not any(child.open for child in ledger.children.values())
    begun = sum(isinstance(event, ModelCallStarted) for log in logs for event in log)
    assert ledger.commands + sum(child.steps for child in ledger.children.values()) == begun
    return begun


async def interferes(conversation: Conversation, chance: Random, *, cuts: bool, within: float) -> bool:
    """What a person does `within` seconds of a run: pause it, interrupt it if it `cuts`, answer, leave, or nothing.
    Return whether the person stays; then the conversation is at rest.
    """
    does = chance.choice(["pause", "leave", "leave", "nothing", "interrupt" if cuts else "pause"])
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await conversation.run()

        tasks.start_soon(run)
        with anyio.move_on_after(chance.uniform(0.0, within)):
            await conversation.run()
        match does:
            case "pause":
                await conversation.pause()
            case "interrupt":
                await conversation.interrupt()
            case "leave":
                tasks.cancel_scope.cancel()
                return False
    assert conversation.state.at_rest
    if conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        chosen = chance.choice(conversation.pending_confirmation).action.id
        if chance.random() < 0.7:
            await conversation.confirm(chosen)
        else:
            await conversation.reject("Not this one.", chosen)
    return True


def actions(log: Iterable[Event], tool_name: str) -> list[ActionEvent]:
    """The calls of a tool."""
    return [event for event in log if isinstance(event, ActionEvent) and event.tool_name == tool_name]


@asynccontextmanager
async def family(
    tmp_path: Path,
    plays: Mapping[str, Play] | ScriptedLLM,
    spec: Agent | None = None,
    tools: Sequence[ToolType] = (),
    task: str = "all",
    **given: Any,
) -> AsyncIterator[Family]:
    """A new conversation with its task, in a runtime of its own."""
    client = plays if isinstance(plays, ScriptedLLM) else model(plays)
    workspace = tmp_path / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    async with (
        Runtime(tmp_path / "store", client=client, tools=tools, **given) as runtime,
        Conversation(spec or agent(), workspace, id=TOP, tools=tools, runtime=runtime) as conversation,
    ):
        await conversation.send_message(task)
        yield Family(conversation, runtime)


@asynccontextmanager
async def reopened(
    tmp_path: Path, plays: Mapping[str, Play] | ScriptedLLM, tools: Sequence[ToolType] = ()
) -> AsyncIterator[Family]:
    """The same conversation, by its id alone."""
    client = plays if isinstance(plays, ScriptedLLM) else model(plays)
    async with (
        Runtime(tmp_path / "store", client=client, tools=tools) as runtime,
        Conversation(id=TOP, runtime=runtime) as conversation,
    ):
        yield Family(conversation, runtime)
