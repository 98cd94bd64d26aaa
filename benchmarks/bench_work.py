"""How long does a person wait for a step of real work, beside the OpenHands agent server?

A command in the terminal and a new file, in turn, in a repository of 5,000 files on a real disk, followed over a
WebSocket: from one result at the client to the next. A step is a call of the model (a provider on loopback that answers
at once), the tool's call, and all that a server keeps of both; agentrt also keeps the files as they are before and
after. Both servers have the same provider, the same client and equal repositories, and their conversations take turns.
With `--peer COMMAND` (or AGENTRT_PEER): an interpreter that has openhands-agent-server and openhands-tools. A ratio
above 1 means that agentrt takes less.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import bench_server
import harness
import msgspec
import psutil
from compare_openhands import Pair, report
from users import FILES, repository

from agentrt.testing import ScriptedProvider, call, finish

PAIRS = 20
"""Commands and edits of a conversation, each."""

ROUNDS = 4
"""Conversations with each server, in turn."""

WAIT = 120.0
"""Seconds that a conversation may take."""

TOOLS = ("terminal", "file_editor")
RESULT = "ObservationEvent"
"""The event of a result, by both servers' name."""


class Waited(msgspec.Struct):
    """The seconds that a client waited for the results of one tool, and for the first of all."""

    first: list[float] = []
    terminal: list[float] = []
    file_editor: list[float] = []
    cpu: list[float] = []
    """CPU seconds of the server and of what it has started, a step."""


def script(body: dict[str, Any]) -> Any:
    """A command and a new file in turn, by the results so far; the workspace stands in the message of the user."""
    done = sum(message["role"] == "tool" for message in body["messages"])
    said = json.dumps(next(message["content"] for message in body["messages"] if message["role"] == "user"))
    workspace = said.partition("WORKSPACE ")[2].partition(" END")[0]
    if done >= 2 * PAIRS:
        return finish("done")
    if done % 2 == 0:
        return call("terminal", command=f"echo {done}")
    path = f"{workspace}/package0/new{time.time_ns()}.py"
    return call("file_editor", command="create", path=path, file_text="x = 1\n")


def results(data: str) -> int:
    """How many results a message of a WebSocket brings: from us an array of frames, from the peer one event."""
    told = json.loads(data)
    frames = [frame.get("event", frame) for frame in (told if isinstance(told, list) else [told])]
    return sum(RESULT in (event.get("type"), event.get("kind")) for event in frames if isinstance(event, dict))


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds of a process and of all below it, and of those that it has waited for."""
    found = 0.0
    for one in (process, *process.children(recursive=True)):
        try:
            found += sum(one.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return found


class Side:
    """A server, and how a conversation is begun with it."""

    def __init__(self, name: str, port: int, pid: int, workspace: str, llm: dict[str, Any]) -> None:
        self.name, self._port, self.process = name, port, psutil.Process(pid)
        self._workspace, self._llm = workspace, llm
        self.waited = Waited()

    async def work(self, client: aiohttp.ClientSession) -> None:
        """One conversation, to its end."""
        text = f"WORKSPACE {self._workspace} END Begin."
        if self.name == "agentrt":
            made = await self._post(client, "/conversations", {"workspace": self._workspace})
            begin, said = f"/conversations/{made['id']}/message", {"content": text, "run": True}
            events = f"/conversations/{made['id']}/events"
        else:
            agent = {"kind": "Agent", "llm": self._llm, "tools": [{"name": name} for name in TOOLS]}
            place = {"kind": "LocalWorkspace", "working_dir": self._workspace}
            made = await self._post(
                client, "/api/conversations", {"agent": agent, "workspace": place, "autotitle": False}
            )
            begin, events = f"/api/conversations/{made['id']}/events", f"/sockets/events/{made['id']}"
            said = {"role": "user", "content": [{"type": "text", "text": text}], "run": True}
        used = cpu_of(self.process)
        async with client.ws_connect(f"http://127.0.0.1:{self._port}{events}", max_msg_size=0) as socket:
            begun = time.perf_counter()
            await self._post(client, begin, said)
            marks = [begun]
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    marks += [time.perf_counter()] * results(message.data)
                if len(marks) > 2 * PAIRS:
                    break
        took = [after - before for before, after in pairwise(marks)]
        self.waited.first.append(took[0])
        self.waited.file_editor += took[1::2]
        self.waited.terminal += took[2::2]
        self.waited.cpu.append((cpu_of(self.process) - used) / (2 * PAIRS))

    async def _post(self, client: aiohttp.ClientSession, path: str, body: Any) -> Any:
        async with client.post(f"http://127.0.0.1:{self._port}{path}", json=body) as answer:
            if answer.status >= 400:
                raise RuntimeError(f"{self.name}: {answer.status} {(await answer.text())[:500]}")
            return await answer.json()


async def measure(peer: str | None, directory: Path, rounds: int) -> list[Side]:
    """Conversations with both servers, in turn."""
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(ScriptedProvider(script))
        place = str(await asyncio.to_thread(repository, directory / "work" / "repository", FILES))
        model = msgspec.json.encode(provider.llm()).decode()
        port, process = await asyncio.to_thread(stack.enter_context, bench_server.served_in(directory, model, *TOOLS))
        sides = [Side("agentrt", port, process.pid, place, {})]
        if peer is not None:
            port, pid, place = await asyncio.to_thread(stack.enter_context, bench_server.served_by_peer(peer, FILES))
            llm = {"model": "openai/scripted", "api_key": "none", "base_url": provider.base_url, "usage_id": "work"}
            sides.append(Side("peer", port, pid, place, llm))
        cookies = {"agentrt-token": harness.SERVER_TOKEN}
        client = await stack.enter_async_context(aiohttp.ClientSession(cookies=cookies))
        for number in range(rounds):
            for side in sides[:: 1 if number % 2 else -1]:
                async with asyncio.timeout(WAIT):
                    await side.work(client)
        return sides


def pairs_of(sides: Sequence[Side]) -> list[Pair]:
    """The lines of the comparison."""
    found = []
    for what, name, percent in (
        ("a command: the result is there, median", "terminal", 50),
        ("a command: the result is there, p95", "terminal", 95),
        ("a new file: the result is there, median", "file_editor", 50),
        ("a new file: the result is there, p95", "file_editor", 95),
        ("the first result of a conversation, median", "first", 50),
        ("CPU of a step", "cpu", 50),
    ):
        ours, *theirs = (harness.percentile(getattr(side.waited, name), percent) * 1e3 for side in sides)
        found.append(Pair(what, "ms", [ours], theirs))
    return found


def main() -> None:
    """Measure, and report."""
    parser = harness.parser(__doc__)
    harness.add_peer(parser)
    options = parser.parse_args()
    harness.set_directory(options.dir)
    with harness.workplace() as directory:
        sides = asyncio.run(measure(options.peer, directory, 1 if options.quick else ROUNDS))
    facts = harness.machine() | {"peer": options.peer or "none"}
    report("bench_work", pairs_of(sides), facts, "the OpenHands agent server", options.json)


if __name__ == "__main__":
    main()
