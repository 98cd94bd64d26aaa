"""Is this commit slower than an older one, at what users do? `nox -s compare -- COMMIT`.

Each act of `users.py` is run with either commit's interpreter in turn, in a process of its own, on a real disk. Beside
each pair: what a fixed piece of work took, which tells how busy the machine was.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

import harness
from rich.table import Table
from users import ACTS, IMPORTS

USERS = Path(__file__).parent / "users.py"
ROUNDS = 5


def measured(python: str, act: str) -> dict[str, float]:
    """The figures of an act with one interpreter."""
    with harness.workplace() as place:
        done = subprocess.run([python, USERS, act, place], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{act} with {python}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure in turn, and print a table."""
    options = harness.parser(__doc__)
    options.add_argument("before", help="the Python that has the older commit")
    options.add_argument("now", help="the Python that has this one")
    options.add_argument("--act", action="append", choices=[*IMPORTS, *ACTS], help="only this")
    given = options.parse_args()
    harness.set_directory(given.dir)
    acts: Sequence[str] = given.act or [*IMPORTS, *ACTS]
    rounds = 1 if given.quick else ROUNDS
    facts, speeds = harness.machine(), list[float]()
    table = Table(title="before and now", title_justify="left", caption_justify="left")
    for name in ("what", "before", "now", "now / before", "unit"):
        table.add_column(name, justify="left" if name in ("what", "unit") else "right", no_wrap=True)
    results = []
    for act in acts:
        pairs = []
        for number in range(rounds):
            speeds.append(harness.calibrated())
            found = [measured(python, act) for python in (given.before, given.now)[:: 1 if number % 2 else -1]]
            pairs.append(found if number % 2 else found[::-1])
        for unit in pairs[0][0]:
            before, now = (statistics.median(pair[side][unit] for pair in pairs) for side in (0, 1))
            ratio = statistics.median(pair[1][unit] / pair[0][unit] for pair in pairs if pair[0][unit])
            table.add_row(act, harness.shown(before), harness.shown(now), f"{ratio:.2f}", unit)
            results.append({"act": act, "unit": unit, "before": before, "now": now, "ratio": ratio})
    table.caption = (
        f"{harness.machine_line(facts)}; medians of {rounds}; a fixed piece of work took"
        f" {harness.shown(min(speeds))} to {harness.shown(max(speeds))} ms meanwhile"
    )
    harness.print_table(table)
    harness.write(given.json, "compare_commits", facts, results)


if __name__ == "__main__":
    main()
