"""What do MCP servers cost: a call, a step with one, and many conversations that have them?

A call is timed in CPU of this process alone: of the bare library `mcp` over its own transport, and of the tool actor up
to the result, with a log that takes nothing. A step is a whole one, with its two commits, beside one whose tool does
nothing. Then 200 conversations that share three servers, and 20 with three of their own: the processes and the memory
that this takes, and how their calls do when all call at once.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import harness
import msgspec
import psutil
from bench_step import noop

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Limits, Runtime
from agentrt.actors.dispatcher import Perform
from agentrt.actors.remote_tools import remote_tool
from agentrt.actors.tool import ToolActor
from agentrt.decisions import ExecuteAction
from agentrt.events import ActionEvent, Event
from agentrt.mcp.connection import connected
from agentrt.mcp.definitions import definitions
from agentrt.placing import Setting
from agentrt.sandboxes.kinds import place_of
from agentrt.secrets import SecretRegistry
from agentrt.specs import LocalWorkspace
from agentrt.specs.mcp import MCPServer
from agentrt.state import State
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.tools.definition import Tools

GOAL_RATIO = 1.15
PROGRAM = Path(__file__).parent / "mcp_program.py"
SMALL: Any = {"command": sys.executable, "args": [str(PROGRAM)]}
NAMES = ("one", "two", "three")
WARM_UP = 50


async def _cpu(times: int, ask: Callable[[], Awaitable[object]]) -> float:
    """CPU milliseconds of one of so many calls."""
    for _ in range(WARM_UP):
        await ask()
    begun = time.process_time()
    for _ in range(times):
        await ask()
    return (time.process_time() - begun) / times * 1e3


async def _bare(times: int) -> float:
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=sys.executable, args=[str(PROGRAM)])) as client:
        return await _cpu(times, lambda: client.call_tool("add", {"a": 1, "b": 2}))


class Silent:
    """A log that takes nothing: what a tool actor does besides logging is left."""

    state = State()

    async def append(self, *events: Event, command: str | None = None) -> None:
        """Check that the result is one."""
        (event,) = events
        assert getattr(event, "is_error", True) is False, event

    def show(self, *_: object) -> None:
        """Show nothing."""


async def _ours(times: int) -> float:
    place, log = place_of(LocalWorkspace("/"), Setting(lambda function: None)), Silent()
    async with connected("small", MCPServer(**SMALL, cwd="/")) as connection:
        (definition,) = definitions("small", (await connection.ready()).listed.tools, ())
        tools, secrets = Tools((), {}, place.workspace), SecretRegistry({})
        given: Any = None

        async def there() -> Any:
            return connection

        tools.learn([remote_tool(definition, there, given)])
        parts: Any = SimpleNamespace(
            tools=tools,
            secrets=secrets,
            retired=lambda _: None,
            store="",
            earlier=None,
            home=None,
            shelf=None,
            client=None,
            saved=None,
        )
        silent: Any = log
        action = ActionEvent(
            tool_name="add", tool_call_id="1", arguments_json=msgspec.Raw(b'{"a":1,"b":2}'), llm_response_id="r"
        )
        async with ToolActor(silent, parts, "add", place, given) as actor:
            return await _cpu(times, lambda: actor.handle(Perform(ExecuteAction("c", action, 1))))


async def _steps(directory: Path, steps: int, *, remote: bool) -> float:
    """CPU milliseconds of a step whose tool is a server's, or does nothing."""
    marks: list[float] = []

    def turn(_: object) -> Any:
        marks.append(time.process_time())
        if len(marks) > steps:
            return finish("done")
        return call("add", a=1, b=2) if remote else call("noop", n=1)

    agent = Agent(
        llm=LLM(model="scripted"),
        limits=Limits(max_steps=steps + 1),
        stuck=None,
        mcp_servers={"one": SMALL} if remote else {},
    )
    async with Runtime(directory / "store", client=ScriptedLLM(turn, keep=False)) as runtime:
        async with Conversation(agent, directory, runtime=runtime, tools=[noop]) as conversation:
            await conversation.send_message("Begin.")
            state = await conversation.run()
            if state.status is not ExecutionStatus.FINISHED:
                raise RuntimeError(f"the run ended {state.status.value}: {state.error}")
    first = len(marks) // 5
    return (marks[-1] - marks[first]) / (len(marks) - 1 - first) * 1e3


def measure_steps(steps: int, *, remote: bool) -> float:
    """The same, in a directory of its own."""
    with harness.workplace() as directory:
        return asyncio.run(_steps(directory, steps, remote=remote))


class Crowd(msgspec.Struct):
    """What many conversations with servers took."""

    processes: int
    own: float
    """MB that this process grew by, a conversation."""
    servers: float
    """MB of the servers' processes, all together."""
    rate: float
    """Calls a second."""
    p99: float
    """Milliseconds of a call and its step."""


async def _crowd(directory: Path, conversations: int, rounds: int, *, shared: bool) -> Crowd:
    servers: Any = {name: {**SMALL, "shared": shared} for name in NAMES}
    taken: list[float] = []
    tools = ("add", "three_add", "two_add")

    agent = Agent(llm=LLM(model="scripted"), mcp_servers=servers, limits=Limits(max_steps=rounds + 2), stuck=None)
    before = harness.resident()
    ready, go = anyio.Event(), anyio.Event()
    there = 0

    async def live(runtime: Runtime, number: int) -> None:
        nonlocal there
        place = directory / str(number)
        place.mkdir()
        async with Conversation(agent, place, runtime=runtime, id=f"c{number}") as conversation:
            await conversation.prompt("Begin.")
            there += 1
            if there == conversations:
                ready.set()
            await go.wait()
            for _ in range(rounds):
                begun = time.perf_counter()
                await conversation.prompt("Call.")
                taken.append(time.perf_counter() - begun)

    def turn(request: Any) -> Any:
        said = request.messages[-1]
        words = "".join(getattr(block, "text", "") for block in said.content)
        if said.role == "user" and words == "Call.":
            return call(tools[len(request.messages) % len(tools)], a=1, b=2)
        return finish("ok")

    async with Runtime(directory / "store", client=ScriptedLLM(turn, keep=False)) as runtime:
        async with anyio.create_task_group() as tasks:
            for number in range(conversations):
                tasks.start_soon(live, runtime, number)
            await ready.wait()
            children = psutil.Process().children(recursive=True)
            own = (harness.resident() - before) / 2**20 / conversations
            memory = sum(child.memory_info().rss for child in children) / 2**20
            begun = time.perf_counter()
            go.set()
        seconds = time.perf_counter() - begun
    p99 = harness.percentile(taken, 99) * 1e3
    return Crowd(len(children), own, memory, len(taken) / seconds, p99)


def measure_crowd(conversations: int, rounds: int, *, shared: bool) -> Crowd:
    """The same, in a directory of its own."""
    with harness.workplace() as directory:
        return asyncio.run(_crowd(directory, conversations, rounds, shared=shared))


def run(function: Callable[[int], Awaitable[float]], times: int) -> float:
    """A question of this module, in a process of its own."""
    return asyncio.run(function(times))  # type: ignore[arg-type]


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    repeats, times, many, few, rounds = (1, 100, 10, 2, 2) if options.quick else (5, 2000, 200, 20, 10)
    bare: list[float] = []
    ours: list[float] = []
    plain: list[float] = []
    remote: list[float] = []
    for _ in range(repeats):
        bare.append(harness.fresh(run, _bare, times))
        ours.append(harness.fresh(run, _ours, times))
        plain.append(harness.fresh(partial(measure_steps, remote=False), times // 4))
        remote.append(harness.fresh(partial(measure_steps, remote=True), times // 4))
    shared = [harness.fresh(partial(measure_crowd, shared=True), many, rounds) for _ in range(min(repeats, 3))]
    own = [harness.fresh(partial(measure_crowd, shared=False), few, rounds) for _ in range(min(repeats, 3))]
    ratios = [one / other for one, other in zip(ours, bare, strict=True)]
    figures = [
        harness.Figure("a call of the bare library, CPU", bare, "ms"),
        harness.Figure("a call, from the tool actor to its result, CPU", ours, "ms"),
        harness.Figure("the second / the first", ratios, "x", GOAL_RATIO),
        harness.Figure("a step whose tool does nothing, CPU", plain, "ms"),
        harness.Figure("a step whose tool is a server's, CPU", remote, "ms"),
    ]
    for words, found in ((f"{many} conversations, three shared servers", shared), (f"{few}, three of their own", own)):
        figures += [
            harness.Figure(f"{words}: servers' processes", [crowd.processes for crowd in found], ""),
            harness.Figure("  memory of ours a conversation", [crowd.own for crowd in found], "MB"),
            harness.Figure("  memory of the servers", [crowd.servers for crowd in found], "MB"),
            harness.Figure("  steps with a call, all at once", [crowd.rate for crowd in found], "1/s"),
            harness.Figure("  p99 of such a step", [crowd.p99 for crowd in found], "ms"),
        ]
    harness.report("bench_mcp: what MCP servers cost", figures, options.json)


if __name__ == "__main__":
    main()
