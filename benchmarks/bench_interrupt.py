"""How soon does an interrupt stop what runs?

`interrupt()` in the middle of a streaming model call (litellm, HTTP over loopback to a provider that has stalled), and
in the middle of a `terminal` command that also has a child in a session of its own. For both: milliseconds until the
call returns, until nothing of the work lives (the provider's socket is closed, no process is left), and until the log
has the result of what was cut.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import harness
import psutil

from agentrt import LLM, Agent, Conversation, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelClient, ModelRequest
from agentrt.testing import ScriptedLLM, ScriptedProvider, Stall, call

GOAL_RETURNS_MS = 200
GOAL_GONE_MS = 2000

POLL = 0.001
"""Seconds between two looks at what still lives."""

PATIENCE = 20.0
"""Seconds after which what should have begun or ended has not."""

Times = list[tuple[float, float, float]]
"""Milliseconds until `interrupt()` returned, until nothing lived, and until the result was in the log, once a round."""


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds. Raises `TimeoutError` when it never does."""
    with anyio.fail_after(PATIENCE):
        while not holds():
            await anyio.sleep(POLL)


async def interrupted(conversation: Conversation, gone: Callable[[], bool]) -> tuple[float, float, float]:
    """Interrupt, and see how long that and its effects took, in milliseconds."""
    begun = time.perf_counter()
    ended: list[float] = []

    async def watch() -> None:
        await until(gone)
        ended.append(time.perf_counter() - begun)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await conversation.interrupt()
        returned = time.perf_counter() - begun
    await until(lambda: not conversation.state.in_flight)
    return returned * 1e3, ended[0] * 1e3, (time.perf_counter() - begun) * 1e3


@asynccontextmanager
async def running(conversation: Conversation) -> AsyncIterator[None]:
    """A run under way within, that has ended at the end."""

    async def run() -> None:
        await conversation.send_message("Begin.")
        await conversation.run()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        yield


@asynccontextmanager
async def conversing(agent: Agent, client: ModelClient | None) -> AsyncIterator[Conversation]:
    """A conversation in a directory of its own."""
    with harness.workplace() as directory:
        async with Runtime(directory / "store", client=client) as runtime:
            async with Conversation(agent, _workspace(directory), runtime=runtime) as conversation:
                yield conversation


def _workspace(directory: Path) -> Path:
    path = directory / "workspace"
    path.mkdir()
    return path


async def _model_call(rounds: int) -> Times:
    times = []
    async with ScriptedProvider(lambda body: Stall("I am thinking about it. ")) as provider:
        async with conversing(Agent(llm=provider.llm()), None) as conversation:
            for number in range(rounds):
                async with running(conversation):
                    await until(lambda: provider.active == 1)
                    await anyio.sleep(0.1)  # its first words arrive
                    times.append(await interrupted(conversation, lambda: provider.dropped > number))  # noqa: B023
    return times


def _living(mark: str) -> list[psutil.Process]:
    """The `sleep`s with this mark, and what is about to become one."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if mark in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def _begun(mark: str) -> bool:
    """Whether both sleep, one of them in a session of its own."""
    living = _living(mark)
    own = [os.getsid(process.pid) == process.pid for process in living if process.info["cmdline"][0] == "sleep"]
    return len(living) == 2 and sorted(own) == [False, True]


def _dead(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def _command(rounds: int) -> Times:
    marks = [f"100.{os.getpid():07}{number:03}" for number in range(rounds)]
    asked = iter(marks)

    def script(request: ModelRequest) -> ModelReply:
        mark = next(asked)
        return call("terminal", command=f"setsid sleep {mark} & sleep {mark}", timeout=90)

    times = []
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
    async with conversing(agent, ScriptedLLM(script, keep=False)) as conversation:
        for mark in marks:
            async with running(conversation):
                await until(lambda: _begun(mark))  # noqa: B023
                await anyio.sleep(0.1)
                both = _living(mark)
                times.append(await interrupted(conversation, lambda: all(map(_dead, both))))  # noqa: B023
                if left := _living(mark):
                    raise RuntimeError(f"an interrupt left {left}")
    return times


def model_call(rounds: int) -> Times:
    """Interrupts of model calls."""
    return anyio.run(_model_call, rounds)


def command(rounds: int) -> Times:
    """Interrupts of commands."""
    return anyio.run(_command, rounds)


def _figures(what: str, times: Times) -> list[harness.Figure]:
    returned, gone, logged = zip(*times, strict=True)
    return [
        harness.Figure(f"{what}: interrupt() returns", returned, "ms", GOAL_RETURNS_MS),
        harness.Figure(f"{what}: nothing of it lives", gone, "ms", GOAL_GONE_MS),
        harness.Figure(f"{what}: its result is in the log", logged, "ms"),
    ]


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    rounds = 2 if options.quick else 10
    figures = [
        *_figures("model call", harness.fresh(model_call, rounds)),
        *_figures("terminal command", harness.fresh(command, rounds)),
    ]
    harness.report("bench_interrupt: how soon what runs has stopped", figures, options.json)


if __name__ == "__main__":
    main()
