"""What does one step of an agent cost in agentrt, pydantic-ai, OpenAI Agents and LangGraph, measured in one run?

All call the same scripted provider over HTTP on loopback, in a process of its own: chat completions, whole answers, one
call of a tool that does nothing in each step. CPU is that of the SDK's process, of all its threads. Each SDK has an
environment of its own, made from the package registry once and kept (`--cache`); the four take turns. A step's cost
includes the SDK's HTTP client, which serializes the whole history for each call; with `--in-process` there is none.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import harness
import msgspec
from rich.table import Table

from agentrt.context.replies import ModelReply
from agentrt.testing import ScriptedProvider, call, say

WORK = Path(__file__).with_name("peers_work.py")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "agentrt" / "peers"
AT = (10, 100, 250, 500)
WIDTH = 20
"""Steps that a step's figure is the mean of."""
TIMEOUT = 900
"""Seconds that one run may take."""


class Peer(msgspec.Struct, frozen=True):
    """An SDK: what is installed for it, and what of a run is on the disk when a step has ended."""

    name: str
    work: str
    packages: tuple[str, ...]
    durable: str


PEERS = (
    Peer("agentrt", "agentrt", (), "every event, synced before the next step"),
    Peer("pydantic-ai", "pydantic_ai", ("pydantic-ai-slim[openai]==2.68.0",), "nothing"),
    Peer("OpenAI Agents", "openai_agents", ("openai-agents==0.24.0",), "nothing"),
    Peer(
        "LangGraph, SQLite",
        "langgraph",
        ("langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2", "langchain-openai==1.7.4"),
        "the whole state, saved before the next step",
    ),
)


class Run(msgspec.Struct):
    """What `peers_work.py` says of one run: seconds at each call of the tool, bytes."""

    cpu: list[float]
    wall: list[float]
    resident: int
    kept: int
    version: str


class PeerFailed(Exception):
    """Raised when an SDK gives no figure; the text is the end of what it said."""


def interpreter(peer: Peer, cache: Path) -> Path:
    """The Python of the peer's environment, which is made when it is not there. Raises `PeerFailed`."""
    if not peer.packages:
        return Path(sys.executable)
    python = cache / peer.work / "bin" / "python"
    made = cache / peer.work / "made-for.txt"
    wanted = "\n".join(peer.packages)
    if made.exists() and made.read_text() == wanted:
        return python
    print(f"making an environment for {peer.name} in {python.parent.parent}", file=sys.stderr)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", python.parent.parent], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *peer.packages], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PeerFailed(str(error)) from error
    made.write_text(wanted)
    return python


def run(peer: Peer, python: Path, base_url: str, steps: int, directory: Path | None) -> Run:
    """One run of the peer. Raises `PeerFailed`."""
    given = {"base_url": base_url, "steps": steps, "dir": str(directory.absolute()) if directory else None}
    try:
        done = subprocess.run(
            [python, "-", peer.work, json.dumps(given)],
            input=WORK.read_text(),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=Run)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerFailed(str(error)) from error
    except (IndexError, msgspec.DecodeError):
        raise PeerFailed((done.stderr or done.stdout).strip()[-300:] or f"exit code {done.returncode}") from None


def answer(body: dict[str, Any], steps: int) -> ModelReply:
    """The provider's next words: a call of the tool, until it has run `steps` times."""
    number = sum(message["role"] == "tool" for message in body["messages"])
    return call("noop", n=number) if number < steps else say("done")


def _provide(pipe: Connection, steps: int) -> None:
    async def serve() -> None:
        async with ScriptedProvider(lambda body: answer(body, steps)) as provider:
            pipe.send(provider.base_url)
            while not await asyncio.to_thread(pipe.poll, 1.0):
                provider.requests.clear()

    asyncio.run(serve())


@contextmanager
def provided(steps: int) -> Iterator[str]:
    """The address of a provider in another process; it is ended at the end."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_provide, args=(there, steps), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send("end")
        process.join()


def at_step(marks: Sequence[float], step: int) -> float:
    """Milliseconds of a step, as the mean of those before it."""
    begin = max(1, step - WIDTH)
    end = min(step, len(marks) - 1)
    return (marks[end] - marks[begin]) / (end - begin) * 1e3


def figures(peer: Peer, runs: Sequence[Run], at: Sequence[int]) -> dict[str, Any]:
    """The medians of a peer's repeats."""

    def middle(value: Any) -> float:
        return float(statistics.median(value(one) for one in runs))

    return {
        "peer": peer.name,
        "version": runs[0].version,
        "cpu_ms": {step: middle(lambda one, step=step: at_step(one.cpu, step)) for step in at},
        "wall_ms": {step: middle(lambda one, step=step: at_step(one.wall, step)) for step in at},
        "cpu_s": middle(lambda one: one.cpu[-1]),
        "resident_mb": middle(lambda one: one.resident / 1e6),
        "kept_mb": middle(lambda one: one.kept / 1e6),
        "durable": peer.durable,
    }


def print_figures(rows: Sequence[dict[str, Any]], failed: dict[str, str], at: Sequence[int], facts: Any) -> None:
    """The one table."""
    table = Table(
        title=f"a step of an agent, its model {facts['model']}; CPU ms (wall ms), in a run of {at[-1]} steps",
        caption=harness.machine_line(facts),
        title_justify="left",
        caption_justify="left",
    )
    for name in ("", *(f"step {step}" for step in at), "CPU of all, s", "memory, MB", "on disk, MB", "durable"):
        table.add_column(name, justify="right" if name not in ("", "durable") else "left")
    for row in rows:
        steps = [f"{harness.shown(row['cpu_ms'][step])} ({harness.shown(row['wall_ms'][step])})" for step in at]
        whole = [harness.shown(row[name]) for name in ("cpu_s", "resident_mb", "kept_mb")]
        table.add_row(f"{row['peer']} {row['version']}", *steps, *whole, row["durable"])
    for name, why in failed.items():
        table.add_row(name, *["-"] * (len(at) + 3), f"no figure: {why}")
    harness.print_table(table)


def main() -> None:
    """Measure all, and report."""
    parser = harness.parser(__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIRECTORY", help="where environments are kept")
    parser.add_argument(
        "--in-process", action="store_true", help="no HTTP: each SDK gets the model's words in its process"
    )
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    harness.set_directory(options.dir)
    at, repeats = ((10, 60), 1) if options.quick else (AT, options.repeats)
    failed: dict[str, str] = {}
    runs: dict[str, list[Run]] = {peer.name: [] for peer in PEERS}
    begun = time.monotonic()
    with nullcontext("") if options.in_process else provided(at[-1]) as base_url:
        for peer in PEERS * repeats:
            if peer.name in failed:
                continue
            try:
                python = interpreter(peer, options.cache)
                runs[peer.name].append(run(peer, python, base_url, at[-1], options.dir))
            except PeerFailed as failure:
                failed[peer.name] = str(failure)
    way = "in the process" if options.in_process else "over HTTP"
    facts = harness.machine() | {"seconds": round(time.monotonic() - begun), "model": way}
    rows = [figures(peer, runs[peer.name], at) for peer in PEERS if runs[peer.name]]
    print_figures(rows, failed, at, facts)
    harness.write(options.json, "compare_peers", facts, rows)


if __name__ == "__main__":
    main()
