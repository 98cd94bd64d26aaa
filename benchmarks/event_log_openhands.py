# mypy: disable-error-code="import-not-found, misc"
"""The work of `bench_event_log` for the OpenHands SDK; runs under its interpreter, with `openhands_work` beside it.

What is prepared for several processes stays in a directory until `discard`. Preparing does not sync; all else does as
the SDK does by default.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from openhands.sdk import Agent, Conversation, Tool, register_tool
from openhands.sdk.conversation.event_store import EventLog
from openhands.sdk.event import ActionEvent, Event, MessageEvent, ObservationEvent
from openhands.sdk.io import LocalFileStore
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands_work import (
    NoopAction,
    NoopObservation,
    NoopTool,
    Scripted,
    converse,
    finished,
    resident,
    version,
)

THREADS = 4
"""Threads that append for many conversations: one works while others wait for the disk; more of them were slower."""

WARM = 20
"""Conversations that are opened before the memory of the rest is counted."""


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` of `values` do not exceed."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def loop(appends: Sequence[Callable[[int], None]], more: Callable[[int], bool]) -> dict[str, float]:
    """Call each of `appends` with 0, 1, 2..., the next when the last returned, while there is `more`."""
    waiting = deque((time.perf_counter(), 0, append) for append in appends)
    times: list[float] = []

    def work() -> None:
        while waiting:
            try:
                since, number, append = waiting.popleft()
            except IndexError:
                return
            append(number)
            now = time.perf_counter()
            times.append(now - since)
            if more(number + 1):
                waiting.append((now, number + 1, append))

    begun, cpu = time.perf_counter(), time.process_time()
    threads = [threading.Thread(target=work) for _ in range(min(THREADS, len(appends)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return {
        "median": percentile(times, 50),
        "p99": percentile(times, 99),
        "cpu": cpu / len(times),
        "rate": len(times) / wall,
        "fairness": 0.0,
    }


def said(text: str, source: str = "user") -> MessageEvent:
    """A message."""
    role = "user" if source == "user" else "assistant"
    return MessageEvent(source=source, llm_message=Message(role=role, content=[TextContent(text=text)]))


async def append(directory: str, counts: list[int], seconds: float, lengths: list[int]) -> list[dict[str, float]]:
    """So many logs that each append one message after another, for so long; once for each count."""
    results = []
    events = [said("x" * lengths[number % len(lengths)]) for number in range(int(20_000 * seconds))]
    for count in counts:
        logs = [EventLog(LocalFileStore(os.path.join(directory, f"{count}-{number}"))) for number in range(count)]
        given = [lambda number, log=log: log.append(events[number]) for log in logs]
        results.append(loop(given, lambda number, until=time.perf_counter() + seconds: time.perf_counter() < until))
    return results


async def send(directory: str, counts: list[list[int]], lengths: list[int]) -> list[dict[str, float]]:
    """For each of `counts`: so many conversations that are sent so many messages each."""
    results, texts = [], ["x" * length for length in lengths]
    for count, each in counts:
        live = [converse(os.path.join(directory, f"{count}-{number}"), 1, 0.0) for number in range(count)]
        given = [lambda number, one=one: one.send_message(texts[number % len(texts)]) for one in live]
        results.append(loop(given, lambda number, each=each: number < each))
    return results


def steps(count: int, output: str) -> list[Event]:
    """Actions of the tool that does nothing, and their observations."""
    made: list[Event] = []
    for number in range(1, count + 1):
        asked = MessageToolCall(id=f"call_{number}", name="noop", arguments=f'{{"n": {number}}}', origin="completion")
        thought = "I look at the tests that fail, then at the module that they import."
        action = ActionEvent(
            thought=[TextContent(text=thought)],
            action=NoopAction(n=number),
            tool_name="noop",
            tool_call_id=asked.id,
            tool_call=asked,
            llm_response_id=f"response-{number}",
        )
        observation = NoopObservation.from_text(text=output)
        given = {"observation": observation, "action_id": action.id, "tool_name": "noop", "tool_call_id": asked.id}
        made += [action, ObservationEvent(**given)]
    return made


async def prepare(directory: str, logs: list[list[int]], sample: str) -> list[dict[str, Any]]:
    """For each of `logs`: a conversation with so many events, and about so many bytes of them."""
    os.fsync = lambda fd: None
    made = [prepare_one(events, size, sample) for events, size in logs]
    os.sync()
    return made


def prepare_one(events: int, size: int, sample: str) -> dict[str, Any]:
    """One such conversation."""
    place = tempfile.mkdtemp(prefix="bench-")
    conversation = converse(place, 1, 0.0)
    state = conversation.state
    missing = events - len(state.events)
    count, rest = divmod(missing - 1, 2)
    lean = sum(len(event.model_dump_json(exclude_none=True)) for event in steps(count, ""))
    room = (size - lean) // count
    output = (sample * (room // len(sample) + 1))[: room * len(sample) // (len(json.dumps(sample)) - 2)]
    with state:
        for event in [*(said("Go on, please.") for _ in range(rest)), *steps(count, output), said("Done.", "agent")]:
            state.append_event(event)
    store = state.persistence_dir
    names = os.listdir(os.path.join(store, "events"))
    found = [os.path.getsize(os.path.join(store, "events", name)) for name in names if name.startswith("event-")]
    return {"place": place, "conversation": str(conversation.id), "events": len(found), "bytes": sum(found)}


async def resume(directory: str, place: str, conversation: str) -> dict[str, float]:
    """Reopen what `prepare` made, then let it do one more step."""
    llm = Scripted(model="scripted", usage_id="scripted")
    llm.set_script(1, 0.0)
    gc.collect()
    memory, begun = resident(), time.perf_counter()
    resumed = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name="noop")]),
        workspace=place,
        persistence_dir=os.path.join(place, "store"),
        conversation_id=uuid.UUID(conversation),
        visualizer=None,
        stuck_detection=False,
    )
    wall = time.perf_counter() - begun
    gc.collect()
    added, most = resident() - memory, peak() - memory
    begun = time.perf_counter()
    resumed.send_message("Is it done?")
    await resumed.arun()
    finished(resumed)
    return {"wall": wall, "memory": added, "peak": most, "stepped": wall + time.perf_counter() - begun}


def peak() -> int:
    """The most resident bytes that this process ever had."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))


async def discard(directory: str, places: list[str]) -> None:
    """Remove what `prepare` made."""
    for place in places:
        shutil.rmtree(place)


async def memory(directory: str, conversations: int) -> dict[str, float]:
    """Bytes of one of so many conversations: with a message in it, and within its second model call."""
    gate, there = asyncio.Event(), 0

    class Gated(Scripted):
        async def acompletion(self, messages: list[Message], *args: Any, **kwargs: Any) -> Any:
            nonlocal there
            if self._call_count == 1:
                there += 1
                await gate.wait()
            return await super().acompletion(messages, *args, **kwargs)

    def open_some(count: int) -> list[Any]:
        return [converse(tempfile.mkdtemp(dir=directory), 2, 0.0, Gated) for _ in range(count)]

    async def awake(live: list[Any]) -> int:
        nonlocal there
        there = 0
        gate.clear()
        runs = [asyncio.create_task(one.arun()) for one in live]
        while there < len(live):
            await asyncio.sleep(0.02)
        memory = settled()
        gate.set()
        await asyncio.gather(*runs)
        return memory

    await awake(open_some(WARM))
    empty = settled()
    live = open_some(conversations)
    idle = settled()
    full = await awake(live)
    return {"idle": (idle - empty) / conversations, "awake": (full - empty) / conversations}


def settled() -> int:
    """Resident bytes without what nobody holds."""
    gc.collect()
    return resident()


def main() -> None:
    """Do what the arguments say."""
    logging.disable(logging.CRITICAL)
    register_tool("noop", NoopTool)
    known: dict[str, Any] = {work.__name__: work for work in (append, send, prepare, resume, discard, memory, version)}
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        result = asyncio.run(known[sys.argv[1]](directory, **json.loads(sys.argv[2])))
    sys.stdout.flush()
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
