"""What does a start cost: of `import agentrt`, of a server, and of a run?

- Wall seconds of a fresh interpreter that imports its usual names, minus those of one that does not; resident memory
  and modules that the import adds within one process.
- Wall and CPU seconds of `agentrt serve` until `/ready` answers, and the resident memory that it has then, with a model
  that is called directly; and whether it has imported litellm.
- Wall and CPU seconds of `agentrt run` until its first request is at the model's address.
"""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import harness
import msgspec
import psutil
from users import USUAL

GOAL_SECONDS = 0.2
GOAL_MB = 40
GOAL_READY = 1.0
GOAL_READY_MB = 90
GOAL_REQUEST = 0.6
"""Seconds until the first request of a run."""

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


def _run(interpreter: Sequence[str], statement: str) -> tuple[float, float, float, int]:
    """Wall and CPU seconds of one process, bytes and modules that the statement added."""
    begun, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [*interpreter, "-"], input=_SCRIPT.format(statement=statement), capture_output=True, text=True, check=True
    )
    wall, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    memory, modules = json.loads(done.stdout.splitlines()[-1])
    return wall, cpu, memory, modules


class Import:
    """Measures one import under one interpreter, a repeat at a time."""

    def __init__(self, interpreter: Sequence[str], statement: str) -> None:
        self._interpreter, self._statement = interpreter, statement
        self.seconds: list[float] = []
        self.cpu: list[float] = []
        self.megabytes: list[float] = []
        self.modules: list[float] = []

    def warm(self) -> None:
        """Once unmeasured: compiles the modules, and brings their files into memory."""
        _run(self._interpreter, self._statement)

    def repeat(self) -> None:
        """Once more."""
        bare = [_run(self._interpreter, "pass")[:2] for _ in range(3)]
        wall, cpu, memory, modules = _run(self._interpreter, self._statement)
        self.seconds.append(wall - statistics.median(each[0] for each in bare))
        self.cpu.append(cpu - statistics.median(each[1] for each in bare))
        self.megabytes.append(memory / 1e6)
        self.modules.append(modules)


class Start(msgspec.Struct, frozen=True):
    """What a program took until it had started: seconds, megabytes, and modules of litellm where they were counted."""

    wall: float
    cpu: float
    megabytes: float
    litellm: int = 0


@contextmanager
def _agentrt(*arguments: str, place: Path, listed: bool = False) -> Iterator[subprocess.Popen[str]]:
    """The command line; with `listed` it writes to a file, `imports`, what it imports."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"PYTHONPROFILEIMPORTTIME": "1"} if listed else {}
    command = [sys.executable, "-m", "agentrt", *arguments, "--store", str(place / "store")]
    with (place / "imports").open("w") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd=place,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def _started(process: subprocess.Popen[str], begun: float, litellm: int = 0) -> Start:
    wall, seen = time.perf_counter() - begun, psutil.Process(process.pid)
    times = seen.cpu_times()
    return Start(wall, times.user + times.system, seen.memory_info().rss / 1e6, litellm)


def serve(listed: bool = False) -> Start:
    """A server until it is ready."""
    with harness.workplace() as place:
        model = ("--model", "openai/scripted", "--base-url", "http://127.0.0.1:9/v1")
        begun = time.perf_counter()
        with _agentrt("serve", "--port", "0", *model, place=place, listed=listed) as process:
            assert process.stdout is not None
            address = re.search(r"http://[\d.:]+", process.stdout.readline())
            if address is None:
                raise SystemExit(f"the server did not start: {(place / 'imports').read_text()}")
            _wait_until_ready(f"{address[0]}/ready")
            started = _started(process, begun)
            imported = (place / "imports").read_text().splitlines() if listed else []
            return msgspec.structs.replace(
                started, litellm=sum("| litellm" in re.sub(" +", " ", it) for it in imported)
            )


def _wait_until_ready(url: str) -> None:
    for _ in range(1000):
        with suppress(urllib.error.HTTPError):  # 503 until its client is loaded
            urllib.request.urlopen(url, timeout=30).close()
            return
        time.sleep(0.02)
    raise SystemExit(f"{url} does not say that it is ready")


def run() -> Start:
    """A run until its first request is there."""
    with harness.workplace() as place, socket.create_server(("127.0.0.1", 0)) as listener:
        model = ("--model", "openai/scripted", "--base-url", f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        begun = time.perf_counter()
        with _agentrt("run", "Say hello.", *model, place=place) as process:
            listener.settimeout(60)
            connection, _ = listener.accept()
            with connection:
                if not connection.recv(65536).startswith(b"POST /v1/chat/completions"):
                    raise SystemExit("the first request is not a call of the model")
                return _started(process, begun)


def figures_of(what: str, starts: Sequence[Start], seconds: float, megabytes: float | None) -> list[harness.Figure]:
    """What a start took."""
    return [
        harness.Figure(f"{what}: wall", [start.wall for start in starts], "s", seconds),
        harness.Figure(f"{what}: CPU", [start.cpu for start in starts], "s"),
        harness.Figure(f"{what}: memory", [start.megabytes for start in starts], "MB", megabytes),
    ]


@contextmanager
def compiled() -> Iterator[None]:
    """Have modules compiled once, as those of an installed package are, whatever this process was told."""
    with harness.workplace() as cache:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(cache)
        yield


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    own, served, runs = Import([sys.executable], USUAL), list[Start](), list[Start]()
    with compiled():
        own.warm()
        serve(), run()
        for _ in range(1 if options.quick else 7):
            own.repeat()
            served.append(serve())
            runs.append(run())
        litellm = serve(listed=True).litellm
    figures = [
        harness.Figure("import of the usual names: wall, beyond a bare interpreter", own.seconds, "s", GOAL_SECONDS),
        harness.Figure("import of the usual names: CPU, beyond a bare interpreter", own.cpu, "s"),
        harness.Figure("import of the usual names: memory added", own.megabytes, "MB", GOAL_MB),
        harness.Figure("import of the usual names: modules added", own.modules, ""),
        *figures_of("agentrt serve, until it is ready", served, GOAL_READY, GOAL_READY_MB),
        harness.Figure("agentrt serve: modules of litellm", [litellm], "", 0),
        *figures_of("agentrt run, until its first request", runs, GOAL_REQUEST, None),
    ]
    harness.report("bench_import: what a start costs", figures, options.json)


if __name__ == "__main__":
    main()
