"""What does one step of an agent cost, and does it cost more as the history grows?

CPU milliseconds (of all threads) of a step, around steps 10, 200, 500 and 1000 of one run: a model call, a tool call, and
their two durable commits. The model is a `ScriptedLLM` that reads every message, the tool does nothing. Beside it the floor:
what two bare commits cost, each 400 bytes written and synced by a thread that wakes the event loop.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import harness

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Limits, Runtime, tool
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest
from agentrt.testing import ScriptedLLM, call, finish

GOAL_MS = 0.6
GOAL_GROWTH = 1.3

AT = (10, 200, 500, 1000)
WIDTH = 100
"""Steps that a figure is the mean of."""

COMMITS = 2
COMMIT_BYTES = 400


@tool
async def noop(n: int) -> str:
    """Does nothing."""
    return "ok"


async def run_steps(directory: Path, steps: int) -> tuple[list[float], list[float]]:
    """The CPU seconds at each model call of one run: of the process, and of the event loop's thread alone."""
    marks: list[float] = []
    loop: list[float] = []

    def script(request: ModelRequest) -> ModelReply:
        marks.append(time.process_time())
        loop.append(time.thread_time())
        return call("noop", n=len(marks)) if len(marks) < steps else finish("done")

    model = ScriptedLLM(script, keep=False)
    agent = Agent(llm=LLM(model="scripted"), limits=Limits(max_steps=steps + 1))
    async with Runtime(directory / "store", client=model) as runtime:
        async with Conversation(agent, directory, runtime=runtime, tools=[noop]) as conversation:
            await conversation.send_message("Begin.")
            state = await conversation.run()
            if state.status is not ExecutionStatus.FINISHED:
                raise RuntimeError(f"the run ended {state.status.value}: {state.error}")
    return marks, loop


def window(step: int, steps: int, width: int) -> tuple[int, int]:
    """The first and the last model call of the steps around `step`, without the first five, which warm up."""
    begin = max(5, min(step - width // 2, steps - 1 - width))
    return begin, min(begin + width, steps - 1)


def step_costs(marks: list[float], at: tuple[int, ...], width: int) -> list[float]:
    """CPU milliseconds of a step around each place of `at`."""
    costs = []
    for step in at:
        begin, end = window(step, len(marks), width)
        costs.append((marks[end] - marks[begin]) / (end - begin) * 1e3)
    return costs


def measure_steps(steps: int) -> tuple[list[float], list[float]]:
    """The marks of a run in a directory of its own."""
    with harness.workplace() as directory:
        return asyncio.run(run_steps(directory, steps))


async def _commits(path: Path, number: int) -> float:
    """CPU seconds of `number` bare commits."""
    loop = asyncio.get_running_loop()
    waiting: SimpleQueue[asyncio.Future[None] | None] = SimpleQueue()
    data = b"x" * COMMIT_BYTES

    def write() -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while (committed := waiting.get()) is not None:
            os.write(descriptor, data)
            os.fdatasync(descriptor)
            loop.call_soon_threadsafe(committed.set_result, None)
        os.close(descriptor)

    thread = threading.Thread(target=write)
    thread.start()
    begun = time.process_time()
    for _ in range(number):
        committed: asyncio.Future[None] = loop.create_future()
        waiting.put(committed)
        await committed
    spent = time.process_time() - begun
    waiting.put(None)
    thread.join()
    return spent


def measure_floor(steps: int) -> float:
    """CPU milliseconds of the bare commits of a step."""
    with harness.workplace() as directory:
        return asyncio.run(_commits(directory / "log", steps * COMMITS)) / steps * 1e3


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    repeats, at, width = (1, (10, 100), 20) if options.quick else (7, AT, WIDTH)
    steps: list[list[float]] = []
    loops: list[float] = []
    floors: list[float] = []
    for _ in range(repeats):
        floors.append(harness.fresh(measure_floor, at[-1]))
        marks, loop = harness.fresh(measure_steps, at[-1] + 1)
        steps.append(step_costs(marks, at, width))
        loops.append(step_costs(loop, at, width)[-1])
    figures = [
        harness.Figure(f"step {step}, CPU", [repeat[place] for repeat in steps], "ms", GOAL_MS)
        for place, step in enumerate(at)
    ]
    ratios = [statistics.mean(repeat) / floor for repeat, floor in zip(steps, floors)]
    growth = [repeat[-1] / repeat[0] for repeat in steps]
    figures += [
        harness.Figure(f"step {at[-1]}, CPU of the event loop alone", loops, "ms"),
        harness.Figure(f"floor: {COMMITS} bare commits, CPU", floors, "ms"),
        harness.Figure("step / floor", ratios, "x"),
        harness.Figure(f"step {at[-1]} / step {at[0]}", growth, "x", GOAL_GROWTH),
    ]
    harness.report("bench_step: the CPU of one step of an agent", figures, options.json)


if __name__ == "__main__":
    main()
