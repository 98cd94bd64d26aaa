"""What does one step of an agent cost, and does it cost more as the history grows?

CPU milliseconds (of all threads) of a step, around steps 10, 200, 500 and 1000 of one run: a model call, a tool call,
and their two durable commits. The model is a `ScriptedLLM` that reads every message, the tool does nothing. Beside it
the floor: what two bare commits cost, each 400 bytes written and synced by a thread that wakes the event loop.
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
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import ToolAnnotations
from agentrt.testing import ScriptedLLM, call, finish

GOAL_MS = 0.6
GOAL_GROWTH = 1.3

AT = (10, 200, 500, 1000)
WIDTH = 100
"""Steps that a figure is the mean of."""

COMMITS = 2
COMMIT_BYTES = 400


@tool(annotations=ToolAnnotations(read_only=True))
async def noop(n: int) -> str:
    """Does nothing; and says so, else the files of the workspace would be kept around its calls."""
    return "ok"


class Metered(ScriptedLLM):
    """Notes at each call the CPU seconds of the process and of the loop's thread so far, and what it takes itself."""

    def __init__(self, steps: int) -> None:
        super().__init__(self._turn, keep=False)
        self._steps = steps
        self.process: list[float] = []
        self.loop: list[float] = []
        self.itself: list[float] = []

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The next turn."""
        self.process.append(time.process_time())
        self.loop.append(time.thread_time())
        reply = await super().complete(request, watch)
        self.itself.append(time.thread_time() - self.loop[-1])
        return reply

    def _turn(self, request: ModelRequest) -> ModelReply:
        number = len(self.process)
        return call("noop", n=number) if number < self._steps else finish("done")


async def run_steps(directory: Path, steps: int) -> tuple[list[float], list[float], list[float]]:
    """What `Metered` noted in one run: CPU seconds at each model call of the process and of the loop, and in each."""
    model = Metered(steps)
    agent = Agent(llm=LLM(model="scripted"), limits=Limits(max_steps=steps + 1))
    async with Runtime(directory / "store", client=model) as runtime:
        async with Conversation(agent, directory, runtime=runtime, tools=[noop]) as conversation:
            await conversation.send_message("Begin.")
            state = await conversation.run()
            if state.status is not ExecutionStatus.FINISHED:
                raise RuntimeError(f"the run ended {state.status.value}: {state.error}")
    return model.process, model.loop, model.itself


def window(step: int, steps: int, width: int) -> tuple[int, int]:
    """The first and the last model call of the steps around `step`, without the first five, which warm up."""
    begin = max(5, min(step - width // 2, steps - 1 - width))
    return begin, min(begin + width, steps - 1)


def step_costs(marks: list[float], at: tuple[int, ...], width: int) -> list[float]:
    """CPU milliseconds of a step around each place of `at`."""
    windows = [window(step, len(marks), width) for step in at]
    return [(marks[end] - marks[begin]) / (end - begin) * 1e3 for begin, end in windows]


def model_costs(itself: list[float], at: tuple[int, ...], width: int) -> list[float]:
    """CPU milliseconds of the model itself in the same steps."""
    windows = [window(step, len(itself), width) for step in at]
    return [statistics.mean(itself[begin:end]) * 1e3 for begin, end in windows]


def measure_steps(steps: int) -> tuple[list[float], list[float], list[float]]:
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
    loops: list[list[float]] = []
    models: list[list[float]] = []
    floors: list[float] = []
    for _ in range(repeats):
        floors.append(harness.fresh(measure_floor, at[-1]))
        process, loop, itself = harness.fresh(measure_steps, at[-1] + 1)
        steps.append(step_costs(process, at, width))
        loops.append(step_costs(loop, at, width))
        models.append(model_costs(itself, at, width))
    figures = [
        harness.Figure(f"step {step}, CPU", [repeat[place] for repeat in steps], "ms", GOAL_MS)
        for place, step in enumerate(at)
    ]
    last = f"step {at[-1]}"
    floor_ratio = [statistics.mean(repeat) / floor for repeat, floor in zip(steps, floors, strict=True)]
    growth = [repeat[-1] / repeat[0] for repeat in steps]
    own = [[cost - model for cost, model in zip(*pair, strict=True)] for pair in zip(steps, models, strict=True)]
    figures += [
        harness.Figure(f"{last}: of it the event loop's thread", [repeat[-1] for repeat in loops], "ms"),
        harness.Figure(f"{last}: of that the model, which reads all", [repeat[-1] for repeat in models], "ms"),
        harness.Figure(f"floor: {COMMITS} bare commits, CPU", floors, "ms"),
        harness.Figure("step / floor", floor_ratio, "x"),
        harness.Figure(f"{last} / step {at[0]}", growth, "x", GOAL_GROWTH),
        harness.Figure("the same without the model", [repeat[-1] / repeat[0] for repeat in own], "x"),
    ]
    harness.report("bench_step: the CPU of one step of an agent", figures, options.json)


if __name__ == "__main__":
    main()
