"""What all benchmarks share: the options, a fresh process a question, figures with their spread, a table and JSON."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec
import psutil
from rich.console import Console
from rich.table import Table

P = ParamSpec("P")
R = TypeVar("R")

LAG_EVERY = 0.01

SERVER_TOKEN = "token-of-the-benchmarks"
"""Seconds that the sampler of an event loop sleeps."""


class Figure(msgspec.Struct, frozen=True):
    """What was measured, once a repeat; `goal` is the most that its median should be."""

    what: str
    values: Sequence[float]
    unit: str
    goal: float | None = None
    note: str = ""

    @property
    def median(self) -> float:
        """The middle of the repeats."""
        return statistics.median(self.values)


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options of every benchmark."""
    formatter = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=description, formatter_class=formatter)
    options.add_argument("--quick", action="store_true", help="a smoke run of some seconds; its figures mean little")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures of every repeat to FILE")
    options.add_argument(
        "--dir", type=Path, metavar="DIRECTORY", help="where the logs are written (default: the temporary one)"
    )
    return options


def add_peer(options: argparse.ArgumentParser) -> None:
    """Add the option that names the other side."""
    peer = os.environ.get("AGENTRT_PEER")
    options.add_argument("--peer", metavar="COMMAND", default=peer, help="the peer's interpreter")


def set_directory(directory: Path | None) -> None:
    """Put this and all fresh processes' temporary files below `directory`."""
    if directory is not None:
        os.environ["TMPDIR"] = tempfile.tempdir = str(directory.absolute())


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory for a workload, removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="agentrt-bench-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def fresh(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What `function` returns in a new interpreter, so that no question sees another's memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def resident() -> int:
    """Resident bytes of this process."""
    return int(psutil.Process().memory_info().rss)


async def sample_lag(lags: list[float]) -> None:
    """Note for ever how many seconds late the event loop is."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(LAG_EVERY)
        lags.append(time.perf_counter() - begun - LAG_EVERY)


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` of `values` do not exceed."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def calibrated() -> float:
    """The milliseconds that a fixed piece of work takes now: how fast the machine is, and how busy."""
    begun = time.perf_counter()
    total = 0
    for number in range(1_000_000):
        total += number
    return (time.perf_counter() - begun) * 1e3


def machine() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    place = Path(tempfile.gettempdir()).resolve()
    mounts = [m for m in psutil.disk_partitions(all=True) if place.is_relative_to(m.mountpoint)]
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "filesystem": max(mounts, key=lambda mount: len(mount.mountpoint)).fstype if mounts else "unknown",
        "load": round(os.getloadavg()[0], 2),
        "calibration_ms": round(calibrated(), 1),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def machine_line(facts: dict[str, Any]) -> str:
    """The machine in a line."""
    return (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, Linux {facts['kernel']},"
        f" Python {facts['python']}, {facts['filesystem']}, load {facts['load']},"
        f" a fixed piece of work {facts['calibration_ms']} ms"
    )


def shown(value: float) -> str:
    """Three significant digits."""
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def report(title: str, figures: Sequence[Figure], file: Path | None) -> None:
    """Print the figures beside their goals, and write them to `file`."""
    facts = machine()
    table = Table(title=title, caption=machine_line(facts), title_justify="left", caption_justify="left")
    table.add_column("what", no_wrap=True)
    for name in ("median", "least", "most"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("unit")
    table.add_column("goal", justify="right", no_wrap=True)
    table.add_column("met")
    notes = any(figure.note for figure in figures)
    if notes:
        table.add_column("note")
    for figure in figures:
        goal = "" if figure.goal is None else f"<= {shown(figure.goal)}"
        met = "" if figure.goal is None else ("yes" if figure.median <= figure.goal else "no")
        spread = (shown(figure.median), shown(min(figure.values)), shown(max(figure.values)))
        table.add_row(figure.what, *spread, figure.unit, goal, met, *([figure.note] if notes else []))
    print_table(table)
    write(file, title, facts, [msgspec.to_builtins(figure) | {"median": figure.median} for figure in figures])


def print_table(table: Table) -> None:
    """Print a table; as wide as it needs when nobody's terminal bounds it."""
    console = Console()
    Console(width=console.width if console.is_terminal else 160).print(table)


def write(file: Path | None, title: str, facts: dict[str, Any], figures: Sequence[dict[str, Any]]) -> None:
    """Write a run to `file` as JSON, when there is one."""
    if file is not None:
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        result = {"benchmark": title, "when": when, "machine": facts, "figures": list(figures)}
        file.write_text(json.dumps(result, indent=1) + "\n")
