"""How does agentrt compare with the OpenHands SDK on the same work, on this machine, in one run?

Import (time, memory, modules); the CPU of one step at steps 10, 200, 500 and 1000; many conversations of ten steps with
a model that takes 200 ms. The two alternate, so that a machine that changes its speed changes it for both. Each runs
under its own Python and stores what it stores by default, once on a disk and once in memory, where a sync costs
nothing; the model's words are given on both sides, and both read every message. A ratio above 1 means that agentrt
takes less.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bench_concurrency
import bench_import
import bench_step
import harness
import msgspec
from rich.table import Table
from users import USUAL

BEGUN = time.monotonic()
WORK = Path(__file__).with_name("openhands_work.py")
HOW = (
    "No peer, so only agentrt is measured. To install it: uv venv --python 3.13 peer && uv pip install --python"
    " peer/bin/python openhands-sdk openhands-tools openhands-agent-server; then --peer peer/bin/python (or"
    " AGENTRT_PEER), also within another command: --peer 'chroot DIR /bin/python'."
)
WIDTH = 20
"""Steps that a step's figure is the mean of: few, since the peer's cost grows within a window."""

TIMEOUT = 120
"""Seconds that one piece of the peer's work may take."""

MEMORY = Path("/dev/shm")
"""A file system in memory, also in the peer's root directory."""

ENOUGH = 400
"""Seconds after which nothing is repeated any more: what is left is measured once."""


class PeerFailed(Exception):
    """Raised when the peer gives no figure; the text is the end of what it said."""


class Peer:
    """The other side's interpreter; its scripts go in over stdin, and the last line that comes out is the result."""

    def __init__(self, command: str, script: str | None = None) -> None:
        self.command = shlex.split(command)
        self._script = WORK.read_text() if script is None else script

    def work(self, name: str, **given: Any) -> Any:
        """What one piece of work gives. Raises `PeerFailed`."""
        try:
            done = subprocess.run(
                [*self.command, "-", name, json.dumps(given)],
                input=self._script,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PeerFailed(str(error)) from error
        try:
            return json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise PeerFailed((done.stderr or done.stdout).strip()[-300:] or f"exit code {done.returncode}") from None


class Pair(msgspec.Struct):
    """One line of the comparison: the same figure of both, once a repeat."""

    what: str
    unit: str
    ours: list[float] = []
    theirs: list[float] = []
    note: str = ""

    def median(self, side: Sequence[float]) -> float | None:
        """The middle of one side's repeats."""
        return harness.Figure(self.what, side, self.unit).median if side else None

    @property
    def ratio(self) -> float | None:
        """The peer's median by ours."""
        ours, theirs = self.median(self.ours), self.median(self.theirs)
        return theirs / ours if ours and theirs is not None else None


Side = Callable[[], Sequence[float]]


def alternate(pairs: Sequence[Pair], repeats: int, ours: Side, theirs: Side | None) -> None:
    """Measure a group of lines on both sides in turn."""
    for number in range(repeats):
        if number and time.monotonic() - BEGUN > ENOUGH:
            return
        for pair, value in zip(pairs, ours(), strict=True):
            pair.ours.append(value)
        if theirs is None or any(pair.note for pair in pairs):
            continue
        try:
            for pair, value in zip(pairs, theirs(), strict=True):
                pair.theirs.append(value)
        except PeerFailed as failure:
            for pair in pairs:
                pair.note = f"the peer gave none: {failure}"


def imports(peer: Peer | None, repeats: int) -> list[Pair]:
    """What each import costs."""
    pairs = [Pair("import: wall, beyond a bare interpreter", "s"), Pair("import: memory added", "MB")]
    pairs.append(Pair("import: modules added", ""))

    def side(one: bench_import.Import) -> Side:
        def measure() -> Sequence[float]:
            try:
                one.repeat()
            except (OSError, subprocess.CalledProcessError) as error:
                raise PeerFailed(str(error)) from error
            return one.seconds[-1], one.megabytes[-1], one.modules[-1]

        return measure

    ours = bench_import.Import([sys.executable], USUAL)
    ours.warm()
    theirs = bench_import.Import(peer.command, "import openhands.sdk") if peer else None
    alternate(pairs, repeats, side(ours), side(theirs) if theirs else None)
    return pairs


def steps(peer: Peer | None, repeats: int, at: tuple[int, ...], where: str) -> list[Pair]:
    """What one step costs, as the history grows."""
    pairs = [Pair(f"step {step}, {where}: CPU", "ms") for step in at]
    growth = Pair(f"step {at[-1]} / step {at[0]}, {where}", "x")

    def ours() -> Sequence[float]:
        marks, _, _ = harness.fresh(bench_step.measure_steps, at[-1] + 1)
        return with_growth(bench_step.step_costs(marks, at, WIDTH))

    def theirs() -> Sequence[float]:
        assert peer is not None
        return with_growth(bench_step.step_costs(peer.work("step", steps=at[-1] + 1)["marks"], at, WIDTH))

    def with_growth(costs: list[float]) -> list[float]:
        return [*costs, costs[-1] / costs[0]]

    alternate([*pairs, growth], repeats, ours, theirs if peer else None)
    return [*pairs, growth]


def conversations(peer: Peer | None, repeats: int, count: int, where: str) -> list[Pair]:
    """How `count` conversations share a process."""
    names = [("wall", "s"), ("CPU", "s"), ("loop lag, median", "ms"), ("loop lag, p99", "ms")]
    if count >= bench_concurrency.ENOUGH:
        names.append(("memory a conversation", "KB"))
    pairs = [Pair(f"N = {count}, {where}: {name}", unit) for name, unit in names]

    def figures(result: dict[str, Any]) -> Sequence[float]:
        lags = [harness.percentile(result["lags"], percent) * 1e3 for percent in (50, 99)]
        return [result["wall"], result["cpu"], *lags, result["bytes"] / 1024][: len(pairs)]

    def theirs() -> Sequence[float]:
        assert peer is not None
        given = {"steps": bench_concurrency.STEPS, "delay": bench_concurrency.DELAY}
        return figures(peer.work("concurrency", conversations=count, **given))

    alternate(
        pairs, repeats, lambda: figures(harness.fresh(bench_concurrency.measure, count)), theirs if peer else None
    )
    return pairs


def report(title: str, pairs: Sequence[Pair], facts: dict[str, Any], peer: str, file: Path | None) -> None:
    """The one table; and the figures to a file, if there is one."""
    table = Table(
        title=f"agentrt and {peer}", caption=harness.machine_line(facts), title_justify="left", caption_justify="left"
    )
    table.add_column("what", no_wrap=True)
    for name in ("agentrt", "peer", "unit", "ratio"):
        table.add_column(name, justify="left" if name == "unit" else "right", no_wrap=True)
    table.add_column("note")
    for pair in pairs:
        values = (pair.median(pair.ours), pair.median(pair.theirs), pair.ratio)
        ours, theirs, ratio = ("-" if value is None else harness.shown(value) for value in values)
        table.add_row(pair.what, ours, theirs, pair.unit, ratio if ratio == "-" else f"{ratio} x", pair.note)
    harness.print_table(table)
    figures = [
        {**msgspec.to_builtins(pair), "agentrt": pair.median(pair.ours), "peer": pair.median(pair.theirs)}
        | {"ratio": pair.ratio}
        for pair in pairs
    ]
    harness.write(file, title, facts, figures)


def main() -> None:
    """Measure both, and report."""
    parser = harness.parser(__doc__)
    harness.add_peer(parser)
    options = parser.parse_args()
    harness.set_directory(options.dir)
    peer, name = Peer(options.peer) if options.peer else None, "no peer"
    if peer is None:
        print(HOW)
    else:
        try:
            found = peer.work("version")
        except PeerFailed as failure:
            parser.error(f"the peer does not answer: {failure}")
        name = f"OpenHands SDK {found['version']} (Python {found['python']})"
    at = (10, 60) if options.quick else bench_step.AT
    facts = harness.machine() | {"peer": name}
    pairs = imports(peer, 1 if options.quick else 3)
    for where, place in (("disk", options.dir), ("memory", MEMORY)):
        harness.set_directory(place)
        pairs += steps(peer, 1 if options.quick else 3, at, where)
        for count in (1, 20) if options.quick else bench_concurrency.COUNTS:
            pairs += conversations(peer, 1 if options.quick or count > 100 else 2, count, where)
    report("compare_openhands", pairs, facts, name, options.json)


if __name__ == "__main__":
    main()
