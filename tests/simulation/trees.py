"""A tree of conversations that delegate, which crashes, is interrupted and goes on, as a seed says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from agentrt import Agent, Conversation, Event, ExecutionStatus, Limits, Runtime, State, Tool, tool
from agentrt.context.budget import estimated_tokens
from agentrt.context.replies import ModelReply
from agentrt.errors import ConversationMissing
from agentrt.events import ChildStarted
from agentrt.placing import PlaceType, Setting
from agentrt.protocols import ModelRequest
from agentrt.sandboxes.in_memory import Act, InMemory, MemoryWorkspace
from agentrt.specs import OnCrash
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, calls, finish
from agentrt.usage import Usage
from tests.delegating import PRICED, TOP, steps_taken
from tests.proofs.delegator import ANSWER, LEAVES
from tests.proofs.evidence import check_numbering

from .world import World

STEPS = ("count", "recount", "count")
"""What each leaf does, each with a number of its own."""
LIVES = 3
"""Times at most that it crashes."""
ROUNDS = 500
"""Of the loop, on average, until it crashes."""
TASK = "all"
DEEP: Mapping[str, Sequence[str]] = {TASK: ("left", "right"), "left": LEAVES[:2], "right": LEAVES[2:]}
"""What each task delegates: here seven conversations."""
FLAT: Mapping[str, Sequence[str]] = {TASK: LEAVES[:1]}
ALONE: Mapping[str, Sequence[str]] = {}


class Tree:
    """The tree of one world."""

    def __init__(
        self,
        world: World,
        directory: Path,
        limits: Limits,
        *,
        below: Mapping[str, Sequence[str]] = DEEP,
        endless: bool = False,
        steps: Sequence[str] = STEPS,
        **given: Any,
    ) -> None:
        self._world, self._directory, self._below, self._endless = world, directory, below, endless
        self._steps = steps
        self.task = TASK if below else LEAVES[0]
        self.sent: list[int] = []
        """The tokens of each call of the model."""
        self.counted: Counter[str] = Counter()
        """How often each number's call took effect."""
        tools = tuple(Tool(name) for name in ("delegate", *dict.fromkeys(steps)))
        settings = {"checkpoints": False, "stuck": None, "system_prompt": "Count."} | given
        self._agent: Agent = Agent(llm=PRICED, tools=tools, limits=limits, **settings)

    def runtime(self) -> Runtime:
        """A runtime in the process that lives now."""
        _now.set(self)
        return Runtime(self._world.storage, tools=(count, recount), client=self._model(), home=self._directory)

    async def conversation(self, runtime: Runtime) -> Conversation:
        """The top, which is begun if it is not there."""
        try:
            await runtime.store.history(TOP).created()
        except ConversationMissing:
            workspace = MemoryWorkspace() if "terminal" in self._steps else self._directory
            return Conversation(self._agent, workspace, id=TOP, runtime=runtime)
        return Conversation(id=TOP, runtime=runtime)

    async def run(self) -> State:
        """A process that runs it to its end."""
        async with self.runtime() as runtime, await self.conversation(runtime) as conversation:
            await conversation.send_message(self.task, id="the-task")
            return await conversation.run()

    async def crash_and_finish(self, rounds: float = ROUNDS) -> State:
        """Crash again and again, about so many rounds apart, then run to the end; what was durable stays."""
        before: dict[str, list[Event]] = {}
        for _ in range(self._world.chance.randint(1, LIVES)):
            if (state := await self._world.live(self.run, rounds)) is not None:
                return state
            logs = await self.logs()
            assert before.keys() <= logs.keys()
            for name, log in logs.items():
                check_numbering(log)
                assert log[: len(before.get(name, ()))] == before.get(name, [])
            before = logs
        state = await self._world.live(self.run)
        assert state is not None
        return state

    async def logs(self, conversation_id: str = TOP) -> dict[str, list[Event]]:
        """The logs of all, by id."""
        try:
            log = await self._world.storage.log(conversation_id)
        except ConversationMissing:
            return {}
        found = {conversation_id: log}
        for child_id in dict.fromkeys(event.child_id for event in log if isinstance(event, ChildStarted)):
            found |= await self.logs(child_id)
        return found

    async def count(self, number: str) -> str:
        """Count a number, at some time."""
        await anyio.sleep(self._world.chance.choice((0.0, 0.001, 0.05)))
        if self._world.alive:
            self.counted[number] += 1
        await anyio.sleep(self._world.chance.choice((0.0, 0.001, 0.05)))
        return f"counted {number}"

    def _model(self) -> ScriptedLLM:
        """A model that goes on where the messages end."""

        def script(request: ModelRequest) -> ModelReply:
            used = estimated_tokens(request.messages, request.tools)
            if self._world.alive:
                self.sent.append(used + ANSWER)
            task = next(plain(message.content) for message in request.messages if message.role == "user")
            return replace(self._step(task, steps_taken(request)), usage=Usage(used, ANSWER))

        return ScriptedLLM(script, delay=0.02, keep=False)

    def _step(self, task: str, number: int) -> ModelReply:
        """What the model says to a task after so many steps."""
        match task:
            case inner if inner in self._below and (number == 0 or (self._endless and inner == TASK)):
                return calls(*(("delegate", {"task": one}) for one in self._below[inner]))
            case leaf if leaf in LEAVES and (self._endless or number < len(self._steps)):
                step, each = self._steps[number % len(self._steps)], f"{leaf}{number % len(self._steps)}"
                return call(step, command=f"count {each}") if step == "terminal" else call(step, number=each)
            case _:
                return finish(f"{task} is done.")


def ended(state: State) -> str:
    """The status of a run, and the code of its error if there is one."""
    return f"{state.status.value} {state.error.code if state.error else ''}".strip()


FINISHED = ExecutionStatus.FINISHED.value


_now: ContextVar[Tree] = ContextVar("tree")
"""The tree whose life this is."""


async def _counts(act: Act) -> int:
    said = await _now.get().count(act.command[1])
    await act.stdout.send(said.encode())
    return 0


def _opened(workspace: MemoryWorkspace, setting: Setting) -> InMemory:
    return InMemory(workspace, setting, {"count": _counts})


IN_MEMORY = PlaceType(MemoryWorkspace, _opened)
"""Where the terminals of the worlds are."""


@tool(resources=lambda action, workspace: ("count",))
async def count(number: str) -> str:
    """Count a number."""  # which must not happen twice: it has an effect outside of the process
    return await _now.get().count(number)


@tool(on_crash=OnCrash.RETRY, resources=lambda action, workspace: ("recount",))
async def recount(number: str) -> str:
    """Count a number, again if need be."""
    return await _now.get().count(number)
