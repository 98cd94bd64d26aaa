"""How many conversations can stream at once in one server process?

A provider streams 30 pieces a second to each conversation, and each has a subscriber with a WebSocket. A number of
them is carried when p99 of the time from the provider's write to the subscriber's receipt is under 250 ms, p99 of the
server's event-loop lag is under 50 ms, also while all of them begin at once, and all pieces arrive. The number grows
until two are not carried, each in two tries, or up to a bound; a try that other programs of the machine disturbed is
made again. The same is asked with the models called through litellm.

The server, the provider and the subscribers are a process each. The moment of the write is in the text of each piece,
on the clock of the machine. What was saturated is told by the CPU of the three, and of the rest of the machine.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import harness
import msgspec
import psutil
from bench_server import ASKERS, BEGIN, Process, begin, clients, post, served
from rich.table import Table

from agentrt import LLM

RATE = 30.0
"""Pieces a second of each answer."""
GOAL_DELAY = 0.25
GOAL_LAG = 0.05
LEAST_ARRIVED = 0.97
"""The part of the pieces that has to arrive in the time in which they were written: some are on their way then."""
FULL = 0.9
"""Cores from which on a process of one thread is taken to be saturated, and the part of a machine that is."""
DISTURBING = 0.4
"""Cores that others take from which on a try says little."""
TRIES = 5
LEVELS = {
    "wire": (25, 50, 75, 100, 125, 150, 200, 250, 300, 400, 500, 600),
    "litellm": (5, 10, 15, 20, 25, 30, 40, 50, 75, 100),
}
QUICK = {"wire": (10,), "litellm": (5,)}


class Level(msgspec.Struct, frozen=True):
    """What so many streams took: seconds, and cores of CPU."""

    way: str
    count: int
    delay: Sequence[float]
    """p50, p99 and the longest."""
    lag: float
    began: float
    """Seconds from the first message to when all of them streamed."""
    began_lag: float
    """p99 of the lag meanwhile."""
    arrived: float
    """Of the pieces that should have been."""
    closed: int
    late: float
    """p99 of how late the provider wrote."""
    client_lag: float
    server: float
    provider: float
    subscribers: float
    others: float
    """Of all other programs of the machine."""
    idle: float
    resident: float

    @property
    def carried(self) -> bool:
        """Whether it was carried."""
        in_time = self.delay[1] < GOAL_DELAY and max(self.lag, self.began_lag) < GOAL_LAG
        return in_time and self.arrived >= LEAST_ARRIVED and not self.closed

    @property
    def piece(self) -> float:
        """Seconds of the server's CPU that a piece took."""
        return self.server / (self.count * RATE)

    @property
    def saturated(self) -> str:
        """What had no room left."""
        cores = {"the server": self.server, "the provider": self.provider, "the subscribers": self.subscribers}
        full = [name for name, taken in cores.items() if taken >= FULL]
        if self.idle < (1 - FULL) * len(os.sched_getaffinity(0)):
            full.append(f"the machine, of which others took {self.others:.2f} cores")
        return ", ".join(full) or "nothing"


@contextmanager
def provider() -> Iterator[tuple[str, Process]]:
    """Its address, and the process."""
    process = Process(sys.executable, "stream_provider.py", str(1 / RATE))
    try:
        yield process.line(), process
    finally:
        process.end()


def measure(way: str, count: int, seconds: float) -> Level:
    """So many conversations at once."""
    with provider() as (url, provides):
        llm = LLM(model="openai/scripted", base_url=url, client="litellm" if way == "litellm" else "wire")
        with served(msgspec.json.encode(llm).decode()) as (port, serves):
            names = begin(port, count, run=False)
            paths = [f"/conversations/{name}/events" for name in names]
            follows = clients("deltas", port=port, paths=paths, seconds=seconds)
            assert follows.line() == "ready"
            serves.ask("mark")
            begun = time.monotonic()
            with ThreadPoolExecutor(ASKERS) as pool:
                list(pool.map(lambda name: post(port, f"/conversations/{name}/message", BEGIN), names))
            _wait_until_all_stream(provides, count)
            began, start = time.monotonic() - begun, serves.ask("stats")
            processes = (serves, provides, follows)
            before, machine = [each.cpu() for each in processes], psutil.cpu_times()
            provides.ask("mark")
            serves.ask("mark")
            follows.say("go")
            time.sleep(seconds)
            cores = [(each.cpu() - cpu) / seconds for each, cpu in zip(processes, before, strict=True)]
            after, written, stats = psutil.cpu_times(), provides.ask("stats"), serves.ask("stats")
            result = json.loads(follows.line())
            follows.end()
    busy, idle = _of_machine(machine, after, seconds)
    return Level(
        way=way,
        count=count,
        delay=result["delays"],
        lag=stats["lags"][1],
        began=began,
        began_lag=start["lags"][1],
        arrived=result["pieces"] / (count * RATE * result["wall"]),
        closed=result["closed"],
        late=written["late"][1],
        client_lag=result["lag"],
        server=cores[0],
        provider=cores[1],
        subscribers=cores[2],
        others=max(0.0, busy - sum(cores)),
        idle=idle,
        resident=stats["resident"] / 1e6,
    )


def _wait_until_all_stream(provides: Process, count: int) -> None:
    for _ in range(3000):
        if provides.ask("stats")["active"] >= count:
            return
        time.sleep(0.02)
    raise RuntimeError(f"of {count} streams, {provides.ask('stats')['active']} have begun")


def _of_machine(before: Any, after: Any, seconds: float) -> tuple[float, float]:
    """Cores that were busy, and that were not."""
    spent = {name: (getattr(after, name) - getattr(before, name)) / seconds for name in before._fields}
    idle = spent["idle"] + spent.get("iowait", 0.0)
    return sum(spent[name] for name in spent if name not in ("idle", "iowait", "guest", "guest_nice")), idle


def climb(way: str, levels: Sequence[int], seconds: float) -> list[Level]:
    """Each level in turn, until two are not carried; a level has two tries, and those that others disturbed are made
    again, a few.
    """
    tried: list[Level] = []
    failed = 0
    for count in levels:
        undisturbed = 0
        for _ in range(TRIES):
            tried.append(level := measure(way, count, seconds))
            print_level(level)
            undisturbed += level.others < DISTURBING or level.server >= FULL
            if level.carried or undisturbed == 2:
                break
        failed += not tried[-1].carried
        if failed == 2:
            break
    return tried


def print_level(level: Level) -> None:
    """A line while it goes on."""
    said = (
        f"{level.way}: {level.count} streams, delay p99 {level.delay[1] * 1e3:.0f} ms, lag p99 {level.lag * 1e3:.0f} ms"
    )
    print(f"{said}: {'carried' if level.carried else 'not carried'}; saturated: {level.saturated}", flush=True)


def print_levels(levels: Sequence[Level], facts: dict[str, Any]) -> None:
    """All of them."""
    title = f"bench_streams: conversations that stream {RATE:g} pieces a second each, in one process"
    table = Table(title=title, caption=harness.machine_line(facts), title_justify="left", caption_justify="left")
    table.add_column("streams", no_wrap=True)
    names = (
        "delay p50",
        "p99",
        "lag p99",
        "begun in",
        "lag p99 then",
        "arrived",
        "written late",
        "server",
        "provider",
        "subscribers",
        "others",
    )
    for name in (*names, "us a piece", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("carried")
    for one in levels:
        times = [f"{value * 1e3:.0f} ms" for value in (*one.delay[:2], one.lag, one.began, one.began_lag)]
        cores = [f"{value:.2f}" for value in (one.server, one.provider, one.subscribers, one.others)]
        row = [
            *times,
            f"{one.arrived:.0%}",
            f"{one.late * 1e3:.0f} ms",
            *cores,
            f"{one.piece * 1e6:.0f}",
            f"{one.resident:.0f}",
        ]
        table.add_row(f"{one.count}, {one.way}", *row, "yes" if one.carried else f"no: {one.saturated}")
    harness.print_table(table)


def most(levels: Sequence[Level]) -> int:
    """The largest number that was carried."""
    return max((level.count for level in levels if level.carried), default=0)


def main() -> None:
    """Measure, and report."""
    parser = harness.parser(__doc__)
    parser.add_argument("--only", choices=tuple(LEVELS), help="one of the ways to call a model")
    parser.add_argument("--levels", help="numbers of conversations, as 50,100,200")
    options = parser.parse_args()
    harness.set_directory(options.dir)
    given = QUICK if options.quick else LEVELS
    seconds = 2.0 if options.quick else 8.0
    levels: list[Level] = []
    figures: list[harness.Figure] = []
    for way in LEVELS:
        if options.only in (None, way):
            counts = tuple(map(int, options.levels.split(","))) if options.levels else given[way]
            tried = climb(way, counts, seconds)
            levels += tried
            bound = "" if not tried[-1].carried else "the bound: more were not tried"
            figures.append(harness.Figure(f"streams at once, {way}", [float(most(tried))], "", note=bound))
            pieces = [one.piece * 1e6 for one in tried]
            figures.append(harness.Figure(f"CPU of the server a piece, {way}", pieces, "us"))
            enough = [FULL / (one.piece * RATE) for one in tried]
            figures.append(harness.Figure(f"streams that {FULL:g} cores are enough for by that, {way}", enough, ""))
    facts = harness.machine()
    print_levels(levels, facts)
    harness.report("bench_streams: the most that one process carries", figures, None)
    harness.write(options.json, "bench_streams", facts, [msgspec.to_builtins(one) for one in levels])


if __name__ == "__main__":
    main()
