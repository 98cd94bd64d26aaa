"""How many conversations does one process carry before they slow each other down?

N conversations of 10 steps (nine calls of a tool that does nothing, then `finish`) run at once in one process under one
`Runtime`, with a model that takes 200 ms a call: alone on an infinitely fast machine they would all take 2.0 s. They
begin in the same second: the clock starts before they are opened.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import harness
from bench_step import noop

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime, State
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest
from agentrt.testing import ScriptedLLM, call, finish

GOAL_OF_IDEAL = 2.0
"""Times the ideal, for the most conversations."""

COUNTS = (1, 20, 100, 300)
STEPS = 10
DELAY = 0.2
ENOUGH = 100
"""Conversations from which on the growth of the process tells the memory of one."""


def script(request: ModelRequest) -> ModelReply:
    """The next turn, by how many assistant's messages there are: each is followed by its tool's."""
    number = (len(request.messages) - 2) // 2 + 1
    return call("noop", n=number) if number < STEPS else finish("done")


async def run_many(directory: Path, conversations: int) -> dict[str, Any]:
    """Wall and CPU seconds, lags of the loop in seconds, bytes a conversation."""
    model = ScriptedLLM(script, delay=DELAY, keep=False)
    agent = Agent(llm=LLM(model="scripted"))
    lags: list[float] = []
    before = harness.resident()

    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(Runtime(directory / "store", client=model, tools=[noop]))

        async def run() -> State:
            async with Conversation(agent, directory, runtime=runtime, tools=[noop]) as conversation:
                await conversation.send_message("Begin.")
                return await conversation.run()

        sampler = asyncio.create_task(harness.sample_lag(lags))
        wall, cpu = time.perf_counter(), time.process_time()
        ended = await asyncio.gather(*(run() for _ in range(conversations)))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        sampler.cancel()
        if any(state.status is not ExecutionStatus.FINISHED for state in ended):
            raise RuntimeError(f"runs ended {sorted({state.status.value for state in ended})}")
        return {"wall": wall, "cpu": cpu, "lags": lags, "bytes": (harness.resident() - before) / conversations}


def measure(conversations: int) -> dict[str, Any]:
    """One run of that many, in a directory of its own."""
    with harness.workplace() as directory:
        return asyncio.run(run_many(directory, conversations))


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    repeats, counts = (1, (1, 20)) if options.quick else (3, COUNTS)
    figures: list[harness.Figure] = []
    runs: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
    for _ in range(repeats):
        for count in counts:
            runs[count].append(harness.fresh(measure, count))
    for count, results in runs.items():
        goal = GOAL_OF_IDEAL if count == counts[-1] else None
        ideal = STEPS * DELAY
        lags = [result["lags"] for result in results]
        figures += [
            harness.Figure(
                f"N = {count}: wall", [result["wall"] for result in results], "s", note=f"ideal {ideal:g} s"
            ),
            harness.Figure(f"N = {count}: wall / ideal", [result["wall"] / ideal for result in results], "x", goal),
            harness.Figure(f"N = {count}: CPU", [result["cpu"] for result in results], "s", note="sampler included"),
            harness.Figure(f"N = {count}: loop lag, median", [harness.percentile(lag, 50) * 1e3 for lag in lags], "ms"),
            harness.Figure(f"N = {count}: loop lag, p99", [harness.percentile(lag, 99) * 1e3 for lag in lags], "ms"),
        ]
        if count >= ENOUGH:
            memory = [result["bytes"] / 1024 for result in results]
            figures.append(harness.Figure(f"N = {count}: memory a conversation", memory, "KB"))
    harness.report("bench_concurrency: many conversations in one process", figures, options.json)


if __name__ == "__main__":
    main()
