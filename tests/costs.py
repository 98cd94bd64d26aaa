"""Counts what users' acts cost, in figures that do not depend on the speed of the machine.

`python -m tests.costs > tests/costs.json` sets the budgets of `tests/test_costs.py`.

modules     own modules that an import loads
calls       calls of the project's own functions, in the thread of the event loop
callbacks   of the event loop
hops        calls that wait for another thread
processes   that are started
looks       at the environment of a process
syncs       of files
bytes       that the log gets
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from types import FrameType
from typing import Any

import msgspec

from agentrt import LLM, Agent, ConfirmRisky, Conversation, ExecutionStatus, Limits, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest
from agentrt.testing import ScriptedLLM, call, finish

OWN = os.path.join(os.path.dirname(sys.modules["agentrt"].__file__ or ""), "")
STEPS = 30
WARM = 10
"""Steps, or conversations, that are not counted."""
SYNCED = "synced"
"""The point of `Probe` behind each sync of a file."""
PLACE = "/tmp"
"""Where the files are: the log names them, so the length of their paths counts."""
COUNTED = ("calls", "callbacks", "hops", "processes", "looks", "syncs")
FILES = 600
"""In the workspace: more than are looked at one by one."""
USUAL = "from agentrt import LLM, Agent, Conversation, Runtime, Tool, tool"


class Counting:
    """Counts while it is on."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._counted: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        self._on = False
        sys.addaudithook(self._audit)

    @contextmanager
    def on(self) -> Iterator[None]:
        """Count in the body, in this thread."""
        self._on = True
        sys.setprofile(self._call)
        try:
            yield
        finally:
            sys.setprofile(None)
            self._on = False

    def so_far(self) -> dict[str, int]:
        """The figures until now."""
        size = sum(path.stat().st_size for path in self._log.glob("conversations/*/events.jsonl"))
        return {**self._counted, "bytes": size}

    def passed(self, point: str) -> None:
        """Count a file that was synced. In the thread that writes."""
        self._counted["syncs"] += self._on and point == SYNCED

    def _call(self, frame: FrameType, what: str, argument: Any) -> None:
        if what != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(OWN):
            self._counted["calls"] += 1
        elif code.co_name == "_run" and code.co_filename.endswith("asyncio/events.py"):
            self._counted["callbacks"] += 1
        elif code.co_name == "_report_result":  # by anyio, once a thread has done what it was given
            self._counted["hops"] += 1

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._on and event in ("subprocess.Popen", "os.posix_spawn", "os.fork"):
            self._counted["processes"] += 1
        elif self._on and event == "open" and str(arguments[0]).endswith("/environ"):
            self._counted["looks"] += 1


class Marks(ScriptedLLM):
    """A model that makes the same call in each step, and notes the figures before each."""

    def __init__(self, counting: Counting, made: Callable[[int], ModelReply]) -> None:
        super().__init__(self._turn, keep=False)
        self._counting, self._made = counting, made
        self.marks: list[dict[str, int]] = []

    def _turn(self, request: ModelRequest) -> ModelReply:
        self.marks.append(self._counting.so_far())
        number = len(self.marks)
        return self._made(number) if number <= STEPS else finish("done")


def usual(marks: list[dict[str, int]]) -> dict[str, int]:
    """The figures of an ordinary step between some marks: in a few, something waited longer, or for less."""
    steps = [{key: after[key] - before.get(key, 0) for key in after} for before, after in pairwise(marks)]
    return {key: median_low(step.get(key, 0) for step in steps[WARM:]) for key in sorted(steps[-1])}


async def steps(place: Path, made: Callable[[Path, int], ModelReply]) -> dict[str, int]:
    """What a step costs, on a real store, with the default settings."""
    counting, where = Counting(place / "store"), workspace(place)
    model = Marks(counting, partial(made, where))
    agent = agent_with(Limits(max_steps=STEPS + 2))
    async with Runtime(place / "store", client=model, probe=counting.passed) as runtime:
        async with Conversation(agent, where, runtime=runtime) as conversation:
            await conversation.send_message("Begin.")
            with counting.on():
                state = await conversation.run()
            assert state.status is ExecutionStatus.FINISHED, state.error
    return usual(model.marks)


def commanding(workspace: Path, number: int) -> ModelReply:
    """A call of the terminal."""
    return call("terminal", command=f"echo {number}")


def editing(workspace: Path, number: int) -> ModelReply:
    """A call that writes a file."""
    return call("file_editor", command="create", path=f"{workspace}/new{number}.py", file_text="print()\n")


async def openings(place: Path) -> dict[str, int]:
    """What it costs to begin a conversation and leave it, beside others in its workspace."""
    counting, marks = Counting(place / "store"), list[dict[str, int]]()
    where = workspace(place)
    async with Runtime(place / "store", client=ScriptedLLM([]), probe=counting.passed) as runtime:
        for _ in range(WARM + 5):
            with counting.on():
                async with Conversation(agent_with(Limits()), where, runtime=runtime):
                    pass
            marks.append(counting.so_far())
    return usual(marks)


async def leavings(place: Path) -> dict[str, int]:
    """What it costs to leave a conversation whose shell waits for a command."""
    counting, marks = Counting(place / "store"), list[dict[str, int]]()
    where, model = workspace(place), ScriptedLLM([call("terminal", command="echo 1"), finish("done")] * (WARM + 5))
    async with Runtime(place / "store", client=model, probe=counting.passed) as runtime:
        for _ in range(WARM + 5):
            with ExitStack() as leaving:
                async with Conversation(agent_with(Limits()), where, runtime=runtime) as conversation:
                    await conversation.send_message("Begin.")
                    await conversation.run()
                    before = counting.so_far()
                    leaving.enter_context(counting.on())
            after = counting.so_far()
            marks.append({key: after[key] - before[key] for key in after})
    return {key: median_low(mark[key] for mark in marks[WARM:]) for key in sorted(marks[-1])}


def agent_with(limits: Limits) -> Agent:
    """An agent as users have them."""
    tools = (Tool("terminal"), Tool("file_editor"), Tool("task_tracker"))
    return Agent(llm=LLM(model="scripted"), tools=tools, limits=limits, confirmation=ConfirmRisky())


def workspace(place: Path) -> Path:
    """A workspace with some files."""
    where = place / "workspace"
    where.mkdir()
    for number in range(FILES):
        (where / f"file{number}.py").write_text(f"print({number})\n")
    return where


def modules(statement: str) -> int:
    """Own modules that a statement loads in a new process."""
    look = f"import sys; {statement}; print(sum(name.split('.')[0] == 'agentrt' for name in sys.modules))"
    return int(subprocess.check_output([sys.executable, "-c", look], text=True))


def main() -> None:
    """Print the figures as JSON."""
    found: dict[str, dict[str, int]] = {
        "import agentrt": {"modules": modules("import agentrt")},
        USUAL: {"modules": modules(USUAL)},
    }
    costs: dict[str, Callable[[Path], Coroutine[Any, Any, dict[str, int]]]] = {
        "a step with a command": lambda place: steps(place, commanding),
        "a step with an edit": lambda place: steps(place, editing),
        "opening a conversation": openings,
        "leaving a conversation with a shell": leavings,
    }
    for name, cost in costs.items():
        with tempfile.TemporaryDirectory(dir=PLACE) as place:
            found[name] = asyncio.run(cost(Path(place)))
    print(msgspec.json.format(msgspec.json.encode(found)).decode())


if __name__ == "__main__":
    main()
