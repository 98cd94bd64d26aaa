"""What does `import agentrt` cost: time, memory, modules?

Wall seconds of a fresh interpreter that imports it, minus those of one that does not; resident memory and modules that
the import adds within one process.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import harness

GOAL_SECONDS = 0.2
GOAL_MB = 40

_SCRIPT = """
import json, os, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # where it is imported too: no network
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
memory, modules = resident(), len(sys.modules)
{statement}
print(json.dumps([resident() - memory, len(sys.modules) - modules]))
"""


def _run(interpreter: Sequence[str], statement: str) -> tuple[float, float, int]:
    """Wall seconds of one process, bytes and modules that the statement added."""
    begun = time.perf_counter()
    done = subprocess.run(
        [*interpreter, "-"], input=_SCRIPT.format(statement=statement), capture_output=True, text=True, check=True
    )
    wall = time.perf_counter() - begun
    memory, modules = json.loads(done.stdout.splitlines()[-1])
    return wall, memory, modules


class Import:
    """Measures one import under one interpreter, a repeat at a time."""

    def __init__(self, interpreter: Sequence[str], module: str) -> None:
        self._interpreter, self._module = interpreter, module
        self.seconds: list[float] = []
        self.megabytes: list[float] = []
        self.modules: list[float] = []

    def warm(self) -> None:
        """Once unmeasured: compiles the modules, and brings their files into memory."""
        _run(self._interpreter, f"import {self._module}")

    def repeat(self) -> None:
        """Once more."""
        bare = statistics.median(_run(self._interpreter, "pass")[0] for _ in range(3))
        wall, memory, modules = _run(self._interpreter, f"import {self._module}")
        self.seconds.append(wall - bare)
        self.megabytes.append(memory / 1e6)
        self.modules.append(modules)


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    own = Import([sys.executable], "agentrt")
    own.warm()
    for _ in range(1 if options.quick else 7):
        own.repeat()
    figures = [
        harness.Figure("import agentrt: wall, beyond a bare interpreter", own.seconds, "s", GOAL_SECONDS),
        harness.Figure("import agentrt: memory added", own.megabytes, "MB", GOAL_MB),
        harness.Figure("import agentrt: modules added", own.modules, ""),
    ]
    harness.report("bench_import: what the import costs", figures, options.json)


if __name__ == "__main__":
    main()
