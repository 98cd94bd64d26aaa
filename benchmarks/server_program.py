"""The server of `bench_server` and `bench_streams`, in a process of its own: agentrt's.

    python server_program.py DIRECTORY MODEL [TOOL ...]

The model is a number: one whose words are given, and that takes so many seconds for a call; or an LLM as JSON, which is
called as a server calls it. Without names of tools, the agent has one that does nothing.

The first line that it prints is its URL. Then it answers each line of its input: "mark" begins to count anew, "stats"
gives a line of JSON with what was since. It ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import harness
import msgspec
from bench_step import noop
from msgspec.structs import replace

from agentrt import LLM, Agent, Limits, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest, Watch
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import run, serving
from agentrt.testing import ScriptedLLM, call

STEPS = 100_000
"""Model calls in a run, at most: more than there is time for."""


class Counted(ScriptedLLM):
    """Asks for the tool that does nothing, for ever, and counts the calls of each conversation."""

    def __init__(self, delay: float) -> None:
        super().__init__(lambda request: call("noop", n=len(request.messages)), delay=delay, keep=False)
        self.calls: Counter[str] = Counter()

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The next turn."""
        reply = await super().complete(request, watch)
        self.calls[request.conversation] += 1
        return reply


class Count:
    """What was since the last mark."""

    def __init__(self, calls: Counter[str]) -> None:
        self._calls = calls
        self.lags: list[float] = []
        self.mark()

    def mark(self) -> None:
        """Begin anew."""
        self._calls.clear()
        self.lags.clear()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stats(self) -> dict[str, Any]:
        """Seconds, bytes, and the steps of each conversation."""
        return {
            "wall": time.perf_counter() - self._wall,
            "cpu": time.process_time() - self._cpu,
            "resident": harness.resident(),
            "lags": [harness.percentile(self.lags or [0.0], percent) for percent in (50, 99, 100)],
            "steps": list(self._calls.values()),
        }


async def answer(count: Count) -> None:
    """Do what the lines of the input say, to its end."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        if line.strip() == b"mark":
            count.mark()
            print(json.dumps({}), flush=True)
        else:
            print(json.dumps(count.stats()), flush=True)


async def serve(directory: Path, given: str, *tools: str) -> None:
    """Serve until the input ends."""
    real = msgspec.json.decode(given, type=LLM) if given.startswith("{") else None
    model = Counted(float(given)) if real is None else None
    agent = Agent(llm=real or LLM(model="scripted"), limits=Limits(max_steps=STEPS))
    if tools:
        agent = replace(agent, tools=tuple(map(Tool, tools)))
    (directory / "work").mkdir(exist_ok=True)
    settings = ServerSettings(
        port=0, workspaces=(directory / "work",), agent=agent, drain=0.5, own_process=True, **unlimited()
    )
    app = create_app(Runtime(directory / "store", client=model, tools=[noop]), settings)
    async with serving(app, settings) as url:
        print(url, flush=True)
        count = Count(Counter() if model is None else model.calls)
        sampler = asyncio.create_task(harness.sample_lag(count.lags))
        await answer(count)
        sampler.cancel()


def unlimited() -> dict[str, Any]:
    """Settings that let one address do as much as all of the clients do."""
    wanted = {"token": harness.SERVER_TOKEN, "rate": None, "max_requests": 100_000, "max_sockets": 100_000}
    return {name: value for name, value in wanted.items() if name in ServerSettings.__struct_fields__}


if __name__ == "__main__":
    run(serve, Path(sys.argv[1]), *sys.argv[2:])
