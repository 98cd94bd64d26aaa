"""The work of `bench_event_log` that takes whole conversations: messages, reopening a long log, memory."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import harness
import msgspec
from bench_step import noop
from event_log_appends import LENGTHS, Appends, summed

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Runtime
from agentrt.codec import encode
from agentrt.context.replies import ModelReply
from agentrt.errors import LogFailed
from agentrt.events import (
    ActionEvent,
    ExecutionStarted,
    MessageEvent,
    ModelCalled,
    ModelCallStarted,
    ObservationEvent,
    RunRequested,
)
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs.content import text
from agentrt.storage import FileStore
from agentrt.storage.memos import MEMO
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.usage import Usage

NAME = "resumed"
STEP = 5
"""Events of one step: call begun, call ended, action, execution begun, observation."""

FRAME = 60
"""Bytes that a record has besides its event, about."""

WARM = 20
"""Conversations that are opened before the memory of the rest is counted."""

TIMEOUT = 60
"""Seconds after which conversations that have not come so far never will."""

SAMPLE = "".join(f'src/package/module_{n % 37}.py:{n}: assert "{n * 40503 % 65536:04x}" == value\n' for n in range(40))
"""What the observations repeat: text as tools print it."""

AGENT = Agent(llm=LLM(model="scripted"))


class Resumed(msgspec.Struct, frozen=True):
    """Seconds and bytes of memory that reopening took, the most bytes meanwhile, and seconds up to a step's end."""

    wall: float
    memory: float
    peak: float
    stepped: float


class Memory(msgspec.Struct, frozen=True):
    """Bytes of one conversation: open with a message in it, and within its second model call."""

    idle: float
    awake: float


def send(conversations: int, each: int) -> Appends:
    """Every conversation is sent `each` messages, one after another, all conversations side by side."""
    with harness.workplace() as directory:
        return asyncio.run(_send(directory, conversations, each))


async def _send(directory: Path, conversations: int, each: int) -> Appends:
    contents = ["x" * length for length in LENGTHS]
    times: list[float] = []

    async def talk(conversation: Conversation) -> None:
        for number in range(each):
            begun = time.perf_counter()
            await conversation.send_message(contents[number % len(contents)])
            times.append(time.perf_counter() - begun)

    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(Runtime(directory / "store", client=ScriptedLLM([])))
        live = [
            await stack.enter_async_context(Conversation(AGENT, directory, runtime=runtime))
            for _ in range(conversations)
        ]
        begun, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*map(talk, live))
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return summed(times, cpu, wall, 1.0)


def build(directory: Path, events: int, size: int) -> int:
    """Write the log of a conversation with so many events and about so many bytes; how many it has."""
    return asyncio.run(_build(directory, events, size))


async def _build(directory: Path, events: int, size: int) -> int:
    async with Runtime(directory / "draft", client=ScriptedLLM([])) as runtime:
        async with Conversation(AGENT, directory, id=NAME, runtime=runtime, tools=[noop]) as conversation:
            first = [event async for event in conversation.events()]
    lean = sum(len(encode(event)) + FRAME for event in history(first, events, ""))
    room = (size - lean) // ((events - len(first) - 4) // STEP)
    output = (SAMPLE * (room // len(SAMPLE) + 1))[: room * len(SAMPLE) // len(msgspec.json.encode(SAMPLE))]
    async with FileStore(directory / "store") as store:
        journal = await store.create(NAME)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def last(error: LogFailed | None) -> None:
            done.set_result(None) if error is None else done.set_exception(error)

        journal.append(first, lambda error: None)
        for event in history(first, events, output)[len(first) :]:
            journal.append((event,), last if event.seq == events else lambda error: None)
        await done
    return sum(path.stat().st_size for path in (directory / "store").rglob("*.jsonl"))


def history(first: Sequence[Event], events: int, output: str) -> list[Event]:
    """A run of `events` events: messages, steps with one tool call each, and the agent's last word."""
    steps, rest = divmod(events - len(first) - 4, STEP)
    made: list[Event] = [*first]
    made += [MessageEvent(source="user", content=text("Go on, please.")) for _ in range(rest)]
    made += [RunRequested()]
    for number in range(1, steps + 1):
        made += _step(number, output)
    made += [ModelCallStarted(command=f"call-{steps + 1}"), _called(steps + 1)]
    made += [MessageEvent(source="agent", content=text("Done."), llm_response_id=f"response-{steps + 1}")]
    return [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(made, 1)]


def _step(number: int, output: str) -> Iterator[Event]:
    response, tool_call = f"response-{number}", f"call_{number}"
    action = ActionEvent(
        tool_name="noop",
        tool_call_id=tool_call,
        arguments_json=msgspec.Raw(b'{"n":%d}' % number),
        llm_response_id=response,
        thought="I look at the tests that fail, then at the module that they import.",
    )
    yield ModelCallStarted(command=f"call-{number}")
    yield _called(number)
    yield action
    yield ExecutionStarted(action_id=action.id, command=f"execute-{action.id}-1", caused_by=action.id)
    yield ObservationEvent(
        action_id=action.id, tool_name="noop", tool_call_id=tool_call, content=text(output), caused_by=action.id
    )


def _called(number: int) -> ModelCalled:
    usage = Usage(prompt_tokens=1000 + number, completion_tokens=50)
    response = f"response-{number}"
    return ModelCalled(command=f"call-{number}", model="scripted", usage=usage, latency=1.0, llm_response_id=response)


def resume(directory: Path, *, memo: bool = True) -> Resumed:
    """Reopen the conversation of `build` in a runtime that stands, then let it do one more step, which reads it all.

    Without a `memo` of its state the whole log is read.
    """
    if not memo:
        (directory / "store" / "conversations" / NAME / MEMO).unlink(missing_ok=True)
    return asyncio.run(_resume(directory))


async def _resume(directory: Path) -> Resumed:
    client = ScriptedLLM([finish("done")], keep=False)
    async with Runtime(directory / "store", client=client) as runtime:
        gc.collect()
        memory, begun = harness.resident(), time.perf_counter()
        async with Conversation(id=NAME, runtime=runtime, tools=[noop]) as conversation:
            wall = time.perf_counter() - begun
            gc.collect()
            added, peak = harness.resident() - memory, _peak() - memory
            begun = time.perf_counter()
            await conversation.send_message("Is it done?")
            state = await conversation.run()
            stepped = wall + time.perf_counter() - begun
            if state.status is not ExecutionStatus.FINISHED:
                raise RuntimeError(f"the run ended {state.status.value}: {state.error}")
    return Resumed(wall=wall, memory=added, peak=peak, stepped=stepped)


def _peak() -> int:
    """The most resident bytes that this process ever had."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status does not tell VmHWM")


def memory(conversations: int) -> Memory:
    """What one of so many takes."""
    with harness.workplace() as directory:
        return asyncio.run(_memory(directory, conversations))


async def _memory(directory: Path, conversations: int) -> Memory:
    client = Gated()
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(Runtime(directory / "store", client=client, tools=[noop]))

        async def open_some(count: int) -> list[Conversation]:
            live = []
            for _ in range(count):
                conversation = Conversation(AGENT, directory, runtime=runtime, tools=[noop])
                live.append(await stack.enter_async_context(conversation))
                await conversation.send_message("Begin.")
            return live

        async def run(conversation: Conversation) -> None:
            await conversation.run()

        async def awake(live: Sequence[Conversation]) -> int:
            client.close()
            runs = [asyncio.create_task(run(conversation)) for conversation in live]
            async with asyncio.timeout(TIMEOUT):
                while client.waiting < len(live):
                    await asyncio.sleep(0.02)
            memory = _settled()
            client.gate.set()
            await asyncio.gather(*runs)
            return memory

        warm = await open_some(WARM)
        await awake(warm)
        empty = _settled()
        live = await open_some(conversations)
        idle = _settled()
        full = await awake(live)
    return Memory(idle=(idle - empty) / conversations, awake=(full - empty) / conversations)


class Gated(ScriptedLLM):
    """Asks for one tool call; its next turn, the last, waits at a gate."""

    def __init__(self) -> None:
        super().__init__(self._turn, keep=False)
        self.close()

    def close(self) -> None:
        """Let nobody through for now."""
        self.gate, self.waiting = asyncio.Event(), 0

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The next turn."""
        if _called_a_tool(request):
            self.waiting += 1
            await self.gate.wait()
        return await super().complete(request, watch)

    def _turn(self, request: ModelRequest) -> ModelReply:
        return finish("done") if _called_a_tool(request) else call("noop", n=1)


def _called_a_tool(request: ModelRequest) -> bool:
    return any(message.role == "tool" for message in request.messages)


def _settled() -> int:
    gc.collect()
    return harness.resident()
