"""How long is the way from a POST to the WebSockets that wait for it, and what does one server process carry?

- A message is posted, and 1, 10, 50 and 1,000 subscribers wait for it. With `--peer COMMAND` (or AGENTRT_PEER), an
  interpreter that has the OpenHands agent server, the same is asked of that, in turn; a ratio above 1 means that
  agentrt takes less. The goal is 2.
- 1,000 conversations run at once, with a model that takes 200 ms a call: steps a second, and how even they are.
- The same, with a socket on each of them.
- 1,000 subscribers of one conversation, to which 10 messages a second are posted, and then as many as it takes.

The server and its clients are processes of their own, on loopback. A delay is from when an event was made to when its
bytes were at the client: what the server's process, the disk and the client's own work take.
"""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import harness
import psutil
from rich.table import Table

HERE = Path(__file__).parent
TIMES = 2.0
"""How many times faster than the peer it should be."""

GOAL_LAG_MS = 50.0
GOAL_FAIRNESS = 2.0
DELAY = 0.2
"""Seconds that the model takes for a call."""

ASKERS = 32
"""Requests that are under way at once while conversations are begun."""

BEGIN = {"content": "Begin.", "run": True}
MESSAGE = {
    "agentrt": '{"content": "TOKEN"}',
    "peer": '{"role": "user", "content": [{"type": "text", "text": "TOKEN"}], "run": false}',
}
PEER_CONVERSATION = {
    "agent": {"kind": "Agent", "llm": {"model": "openai/x", "api_key": "none", "usage_id": "x"}, "tools": []},
    "workspace": {"kind": "LocalWorkspace", "working_dir": "/tmp"},
    "autotitle": False,
}


class Process:
    """A program that is asked in lines, and answers each with one line."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)

    def line(self) -> str:
        """The next line that it says. Raises `RuntimeError` when it has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended")
        return line.strip()

    def ask(self, word: str) -> Any:
        """The answer to a word."""
        self.say(word)
        return json.loads(self.line())

    def say(self, word: str) -> None:
        """Say a word."""
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def cpu(self) -> float:
        """Seconds of CPU that it took so far."""
        times = psutil.Process(self._process.pid).cpu_times()
        return times.user + times.system

    def end(self) -> None:
        """Close its input, and wait for it."""
        self._process.communicate(timeout=60)


@contextmanager
def served(model: str = str(DELAY)) -> Iterator[tuple[int, Process]]:
    """The port of a server of ours with such a model, and the process."""
    with harness.workplace() as directory, served_in(directory, model) as server:
        yield server


@contextmanager
def served_in(directory: Path, model: str, *tools: str) -> Iterator[tuple[int, Process]]:
    """The same, with its store and its workspaces (`work`) in a directory, and with an agent that has tools."""
    process = Process(sys.executable, "server_program.py", str(directory), model, *tools)
    try:
        yield int(process.line().rpartition(":")[2]), process
    finally:
        process.end()


@contextmanager
def served_by_peer(command: str, files: int = 0) -> Iterator[tuple[int, int, str]]:
    """The port of a server of the peer, its process id, and its workspace with so many files."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    process = subprocess.Popen(
        [*shlex.split(command), "-", str(port), str(files)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write((HERE / "server_peer.py").read_bytes())
    process.stdin.close()
    try:
        workspace = process.stdout.readline().decode().strip()
        for _ in range(120):
            time.sleep(0.5)
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("the peer's server has ended") from None
        else:
            raise SystemExit("the peer's server does not answer")
        yield port, process.pid, workspace
    finally:
        process.kill()
        process.wait()


def post(port: int, path: str, body: Any) -> Any:
    """The answer to a request."""
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Cookie": f"agentrt-token={harness.SERVER_TOKEN}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def clients(work: str, **given: Any) -> Process:
    """Clients, in a process of their own."""
    return Process(sys.executable, "server_clients.py", work, json.dumps(given))


def latency(side: str, port: int, subscribers: int, rounds: int) -> dict[str, Any]:
    """From a POST to the sockets, of a new conversation."""
    if side == "agentrt":
        name = post(port, "/conversations", {})["id"]
        socket, path = f"/conversations/{name}/events", f"/conversations/{name}/message"
    else:
        name = post(port, "/api/conversations", PEER_CONVERSATION)["id"]
        socket, path = f"/sockets/events/{name}", f"/api/conversations/{name}/events"
    process = clients(
        "latency", port=port, socket=socket, post=path, body=MESSAGE[side], subscribers=subscribers, rounds=rounds
    )
    result: dict[str, Any] = json.loads(process.line())
    process.end()
    return result


def latencies(peer: str | None, counts: Sequence[int], rounds: int, turns: int) -> list[dict[str, Any]]:
    """Both sides in turn, so that a machine that changes its speed changes it for both."""
    rows: list[dict[str, Any]] = []
    for count in counts:
        sides: dict[str, int] = {}
        found: dict[str, dict[str, list[float]]] = {"agentrt": {}, "peer": {}}
        waited: dict[str, int] = {}
        with ExitStack() as stack:
            sides["agentrt"] = stack.enter_context(served())[0]
            if peer and count <= PEER_MOST:
                sides["peer"] = stack.enter_context(served_by_peer(peer))[0]
            for _ in range(turns):
                for side, port in sides.items():
                    result = latency(side, port, count, max(5, rounds // turns))
                    waited[side] = result.pop("subscribers")
                    for name, values in result.items():
                        found[side].setdefault(name, []).extend(values)
        rows += [row(f"{count} subscribers: {what}", name, percent, found, waited) for what, name, percent in SHOWN]
    return rows


PEER_MOST = 50
SHOWN = (("the median has it", "median", 50), ("the last has it", "last", 50), ("the last has it, p99", "last", 99))


def row(what: str, name: str, percent: int, found: dict[str, Any], waited: dict[str, int]) -> dict[str, Any]:
    """A line of the comparison, in ms."""
    sides = {side: harness.percentile(times[name], percent) * 1e3 if times else None for side, times in found.items()}
    ours, theirs = sides["agentrt"], sides["peer"]
    ratio = theirs / ours if ours and theirs else None
    note = (
        f"the peer took {waited['peer']} subscribers"
        if waited.get("peer", waited["agentrt"]) != waited["agentrt"]
        else ""
    )
    return {
        "what": what,
        "unit": "ms",
        **sides,
        "ratio": ratio,
        "goal": TIMES if theirs and percent == 50 else None,
        "note": note,
    }


def begin(port: int, count: int, *, run: bool) -> list[str]:
    """The ids of new conversations; those that run all have been told to."""
    with ThreadPoolExecutor(ASKERS) as pool:
        names = [made["id"] for made in pool.map(lambda _: post(port, "/conversations", {}), range(count))]
        if run:
            list(pool.map(lambda name: post(port, f"/conversations/{name}/message", BEGIN), names))
    return names


def running(count: int, seconds: float, *, sockets: bool) -> dict[str, Any]:
    """So many conversations at once, with a socket on each or without."""
    with served() as (port, server):
        before = server.ask("stats")["resident"]
        names = begin(port, count, run=True)
        watching, result = None, {}
        if sockets:
            watching = clients(
                "watch", port=port, paths=[f"/conversations/{name}/events" for name in names], seconds=seconds
            )
            assert watching.line() == "ready"
            watching.say("go")
        server.ask("mark")
        time.sleep(seconds)
        stats = server.ask("stats")
        if watching is not None:
            result = json.loads(watching.line())
            watching.end()
        return {"stats": stats, "bytes": (stats["resident"] - before) / count, "watched": result, "count": count}


def subscribers(count: int, seconds: float, rate: float) -> dict[str, Any]:
    """So many sockets on one conversation, to which messages are posted."""
    with served() as (port, server):
        (name,) = begin(port, 1, run=False)
        before = server.ask("stats")["resident"]
        path = f"/conversations/{name}"
        watching = clients(
            "watch", port=port, paths=[f"{path}/events"] * count, seconds=seconds, post=f"{path}/message", rate=rate
        )
        assert watching.line() == "ready"
        server.ask("mark")
        watching.say("go")
        result = json.loads(watching.line())
        stats = server.ask("stats")
        watching.end()
        return {"stats": stats, "bytes": (stats["resident"] - before) / count, "watched": result, "count": count}


def figures(title: str, runs: Sequence[dict[str, Any]]) -> list[harness.Figure]:
    """What runs of one load gave."""

    def each(what: str, unit: str, values: list[float], goal: float | None = None) -> harness.Figure:
        return harness.Figure(f"{title}: {what}", values, unit, goal)

    found, stats, watched = [], [run["stats"] for run in runs], [run["watched"] for run in runs]
    steps = [one["steps"] for one in stats]
    if all(len(counts) > 1 for counts in steps):
        missing = [1 if len(counts) < run["count"] else 0 for counts, run in zip(steps, runs, strict=True)]
        shares = [max(counts) / (0.5 if none else min(counts)) for counts, none in zip(steps, missing, strict=True)]
        found.append(
            each("steps", "a second", [sum(counts) / one["wall"] for counts, one in zip(steps, stats, strict=True)])
        )
        found.append(each("steps, most / least", "x", shares, GOAL_FAIRNESS))
        found.append(
            each("CPU a step", "ms", [one["cpu"] / sum(counts) * 1e3 for counts, one in zip(steps, stats, strict=True)])
        )
    if all(watched):
        found.append(each("events received", "a second", [one["events"] / one["wall"] for one in watched]))
        for percent in (50, 99):
            delays = [harness.percentile(one["delays"] or [0.0], percent) * 1e3 for one in watched]
            found.append(each(f"delay, p{percent}", "ms", delays))
        cpu = [one["cpu"] / max(1, seen["events"]) * 1e6 for one, seen in zip(stats, watched, strict=True)]
        found.append(each("CPU an event received", "us", cpu))
        found.append(each("sockets that were closed", "", [float(one["closed"]) for one in watched], 0.0))
    found.append(each("loop lag, median", "ms", [one["lags"][0] * 1e3 for one in stats]))
    found.append(each("loop lag, p99", "ms", [one["lags"][1] * 1e3 for one in stats], GOAL_LAG_MS))
    found.append(each("CPU of the server", "cores", [one["cpu"] / one["wall"] for one in stats]))
    found.append(each("memory, each", "KB", [run["bytes"] / 1024 for run in runs]))
    return found


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """The comparison."""
    table = Table(title="From a POST to the WebSockets", title_justify="left")
    for name in ("what", "agentrt", "peer", "ratio", "goal", "note"):
        table.add_column(name, no_wrap=name != "note", justify="left" if name in ("what", "note") else "right")
    for one in rows:
        values = [
            "-" if one[name] is None else harness.shown(one[name]) for name in ("agentrt", "peer", "ratio", "goal")
        ]
        ratio, goal = "" if one["ratio"] is None else f"{values[2]} x", "" if one["goal"] is None else f">= {values[3]}"
        table.add_row(f"{one['what']}, ms", values[0], values[1], ratio, goal, one["note"])
    harness.print_table(table)


def main() -> None:
    """Measure, and report."""
    parser = harness.parser(__doc__)
    harness.add_peer(parser)
    parser.add_argument("--only", choices=("latency", "running", "sockets", "subscribers"), help="one of the loads")
    options = parser.parse_args()
    harness.set_directory(options.dir)
    quick = options.quick
    many, seconds, repeats = (50, 2.0, 1) if quick else (1000, 10.0, 3)
    rows: list[dict[str, Any]] = []
    results: list[harness.Figure] = []
    if options.only in (None, "latency"):
        counts = (1, 10) if quick else (1, 10, 50, 1000)
        rows = latencies(options.peer, counts, 10 if quick else 200, 1 if quick else 4)
        print_rows(rows)
    loads: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
        "running": (f"{many} conversations", lambda: running(many, seconds, sockets=False)),
        "sockets": (f"{many} conversations, a socket each", lambda: running(many, seconds, sockets=True)),
    }
    for name, (title, load) in loads.items():
        if options.only in (None, name):
            results += figures(title, [load() for _ in range(repeats)])
    if options.only in (None, "subscribers"):
        for rate, how in ((10.0, "10 posts a second"), (0.0, "as many posts as it takes")):
            results += figures(f"{many} subscribers, {how}", [subscribers(many, seconds, rate) for _ in range(repeats)])
    if results:
        harness.report("bench_server: one process, many conversations and sockets", results, None)
    facts = harness.machine()
    harness.write(options.json, "bench_server", facts, [*rows, *map(as_row, results)])


def as_row(figure: harness.Figure) -> dict[str, Any]:
    """A figure for the file."""
    return {
        "what": figure.what,
        "values": list(figure.values),
        "median": figure.median,
        "unit": figure.unit,
        "goal": figure.goal,
    }


if __name__ == "__main__":
    main()
