"""One thing that users do, measured once: `python benchmarks/users.py ACT DIRECTORY` prints its figures as JSON.

It uses what every version has had, so that an older commit can run it too.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

FILES = 5_000
CALLS = 30
WARM = 5
"""Calls that are not measured."""
OPENED = 50
COMMAND = "echo {}"
BEGIN = "Work in {} now."
"""A message that names the workspace: one model serves all conversations."""
STEPS, DELAY = 10, 0.2
"""Of each of many conversations; the seconds of a call of the model."""


def cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def repository(place: Path, files: int) -> Path:
    """A workspace with so many small files."""
    for number in range(files):
        path = place / f"package{number // 50}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def function{number}():\n    return {number}\n" * 10)
    place.mkdir(exist_ok=True)
    return place


def call_of(tool: str, workspace: Path, number: int) -> Any:
    """A command, or a new file."""
    from agentrt.testing import call

    if tool == "terminal":
        return call("terminal", command=COMMAND.format(number))
    return call("file_editor", command="create", path=f"{workspace}/package0/new{number}.py", file_text="x = 1\n")


def agent_with(*tools: str, checkpoints: bool = True) -> Any:
    """An agent with tools."""
    from agentrt import LLM, Agent, Tool

    settings = known(Agent, stuck=None, checkpoints=checkpoints)
    return Agent(llm=LLM(model="scripted"), tools=tuple(map(Tool, tools)), **settings)


def known(kind: Any, **given: Any) -> dict[str, Any]:
    """The settings that this version has: an older one kept no files, and all requests."""
    return {name: value for name, value in given.items() if name in inspect.signature(kind).parameters}


def so_far(request: Any) -> tuple[int, Path]:
    """How many calls the model has made in a conversation that began with `BEGIN`, and its workspace."""
    place = re.search(BEGIN.format(r"(\S+)"), repr(request.messages))
    assert place is not None
    return sum(message.role == "assistant" for message in request.messages), Path(place[1])


async def calls(directory: Path, tool: str, checkpoints: bool) -> dict[str, float]:
    """What a call costs in a repository."""
    from agentrt import Conversation, Runtime
    from agentrt.testing import ScriptedLLM, finish

    workspace, marks = repository(directory / "workspace", FILES), list[tuple[float, float]]()

    def turn(request: Any) -> Any:
        marks.append((time.perf_counter(), cpu()))
        return call_of(tool, workspace, len(marks)) if len(marks) <= CALLS else finish("done")

    agent = agent_with("terminal", "file_editor", checkpoints=checkpoints)
    async with Runtime(directory / "store", client=ScriptedLLM(turn, **known(ScriptedLLM, keep=False))) as runtime:
        async with Conversation(agent, workspace, runtime=runtime) as conversation:
            await conversation.send_message("Begin.")
            await conversation.run()
    walls = [after[0] - before[0] for before, after in itertools.pairwise(marks)]
    return {
        "first ms": walls[0] * 1e3,
        "ms": statistics.median(walls[WARM:]) * 1e3,
        "CPU ms": (marks[-1][1] - marks[WARM][1]) / (len(marks) - 1 - WARM) * 1e3,
    }


async def opening(directory: Path) -> dict[str, float]:
    """What it costs to begin a conversation and leave it."""
    from agentrt import Conversation, Runtime
    from agentrt.testing import ScriptedLLM

    workspace, agent = repository(directory / "workspace", FILES), agent_with("terminal", "file_editor")
    time.sleep(3)  # a repository is seldom as new as this one, and what has just changed is read each time
    async with Runtime(directory / "store", client=ScriptedLLM([])) as runtime:
        for number in range(WARM + OPENED):
            if number == WARM:
                wall, used = time.perf_counter(), cpu()
            async with Conversation(agent, workspace, runtime=runtime):
                pass
        return {"ms": (time.perf_counter() - wall) / OPENED * 1e3, "CPU ms": (cpu() - used) / OPENED * 1e3}


async def many(directory: Path, count: int, tool: str) -> dict[str, float]:
    """What it costs that many conversations begin in the same second, each in a workspace of its own."""
    import harness  # it imports much, and this program measures imports too

    from agentrt import Conversation, Runtime
    from agentrt.testing import ScriptedLLM, finish

    lags = list[float]()

    def turn(request: Any) -> Any:
        number, workspace = so_far(request)
        return call_of(tool, workspace, number + 1) if number + 1 < STEPS else finish("done")

    agent = agent_with("terminal", "file_editor")
    sampling = asyncio.create_task(harness.sample_lag(lags))
    client = ScriptedLLM(turn, **known(ScriptedLLM, delay=DELAY, keep=False))
    async with Runtime(directory / "store", client=client) as runtime:

        async def one(number: int) -> None:
            workspace = repository(directory / f"workspace{number}", 0)
            async with Conversation(agent, workspace, runtime=runtime) as conversation:
                await conversation.send_message(BEGIN.format(workspace))
                await conversation.run()
            if tool == "file_editor":
                assert len(os.listdir(workspace / "package0")) == STEPS - 1

        wall, used = time.perf_counter(), cpu()
        working = asyncio.gather(*(one(number) for number in range(count)))
        most = 0
        while not working.done():
            await asyncio.wait([working], timeout=0.2)
            most = max(most, descriptors())
        await working
        took = {"s": time.perf_counter() - wall, "CPU s": cpu() - used}
    sampling.cancel()
    lag = harness.percentile(lags, 99) * 1e3
    return {**took, "lag p99 ms": lag, "MB": megabytes("VmHWM"), "descriptors": most}


async def bare(count: int) -> dict[str, float]:
    """What the same shells and commands cost a program that does nothing else: the least that `many` can take."""

    async def one() -> None:
        shell = await asyncio.create_subprocess_exec(
            "bash", "--noprofile", "--norc", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert shell.stdin is not None
        assert shell.stdout is not None
        for number in range(1, STEPS):
            await asyncio.sleep(DELAY)
            shell.stdin.write(f"{COMMAND.format(number)}\n".encode())
            await shell.stdout.readline()
        await asyncio.sleep(DELAY)
        shell.stdin.close()
        await shell.wait()

    wall, used = time.perf_counter(), cpu()
    await asyncio.gather(*(one() for _ in range(count)))
    return {"s": time.perf_counter() - wall, "CPU s": cpu() - used}


async def coming_and_going(directory: Path, count: int) -> dict[str, float]:
    """What a process still has of conversations that have come and gone: each with an edit and a command."""
    from agentrt import Conversation, Runtime
    from agentrt.testing import ScriptedLLM, finish

    def turn(request: Any) -> Any:
        number, workspace = so_far(request)
        return finish("done") if number == 2 else call_of(("file_editor", "terminal")[number], workspace, number)

    agent = agent_with("terminal", "file_editor")
    async with Runtime(directory / "store", client=ScriptedLLM(turn, **known(ScriptedLLM, keep=False))) as runtime:
        for number in range(count + count // 4):
            if number == count // 4:  # by then, what is loaded once is there
                memory, opened, wall = megabytes("VmRSS"), descriptors(), time.perf_counter()
            workspace = repository(directory / f"workspace{number}", 1)
            async with Conversation(agent, workspace, runtime=runtime) as conversation:
                await conversation.send_message(BEGIN.format(workspace))
                await conversation.run()
            assert (workspace / "package0/new0.py").exists()
        took = (time.perf_counter() - wall) / count * 1e3
    grown = megabytes("VmRSS") - memory
    return {"ms each": took, "KB each": grown / count * 1e3, "descriptors grown": descriptors() - opened}


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def megabytes(name: str) -> float:
    """The memory of this process now (`VmRSS`), or at most (`VmHWM`)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(f"{name}:")) / 1024


def importing(statement: str) -> dict[str, float]:
    """What an import costs, in this new process."""
    wall, used = time.perf_counter(), cpu()
    exec(statement)
    took = {"ms": (time.perf_counter() - wall) * 1e3, "CPU ms": (cpu() - used) * 1e3}
    return {**took, "MB": megabytes("VmHWM")}


USUAL = "from agentrt import LLM, Agent, Conversation, Runtime, Tool, tool"

ACTS: dict[str, Callable[[Path], Coroutine[Any, Any, dict[str, float]]]] = {
    "a command, 5,000 files": lambda place: calls(place, "terminal", True),
    "the same, no checkpoints": lambda place: calls(place, "terminal", False),
    "an edit, 5,000 files": lambda place: calls(place, "file_editor", True),
    "the same edit, no checkpoints": lambda place: calls(place, "file_editor", False),
    "opening, 5,000 files": opening,
    "20 x 10 edits": lambda place: many(place, 20, "file_editor"),
    "100 x 10 edits": lambda place: many(place, 100, "file_editor"),
    "100 x 10 commands": lambda place: many(place, 100, "terminal"),
    "300 x 10 commands": lambda place: many(place, 300, "terminal"),
    "300 x 10 commands, bare asyncio": lambda place: bare(300),
    "300 x 10 edits": lambda place: many(place, 300, "file_editor"),
    "1,000 x 10 edits": lambda place: many(place, 1_000, "file_editor"),
    "3,000 x 10 edits": lambda place: many(place, 3_000, "file_editor"),
    "1,000 that come and go": lambda place: coming_and_going(place, 1_000),
}
IMPORTS = {
    "import asyncio, anyio, msgspec": "import asyncio, anyio, msgspec",
    "import agentrt": "import agentrt",
    "import of the usual names": USUAL,
}


def main() -> None:
    """Do it, and print the figures."""
    act, directory = sys.argv[1:]
    found = importing(IMPORTS[act]) if act in IMPORTS else asyncio.run(ACTS[act](Path(directory)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
