"""What do the tools for code cost: a search in 100,000 files, keeping the files of a workspace, and the definitions?

`grep` and `glob` are timed to their result, beside ripgrep that prints the same lists, and without it. The files of a
workspace of 20,000 are kept when nothing has changed, when ten have, and for the first time, while a sampler looks how
late the event loop is; and a step whose tool may write is timed with checkpoints and without.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import harness
import msgspec

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Limits, Runtime, tool
from agentrt.sandboxes.reached import ReachedFiles
from agentrt.specs import LocalWorkspace
from agentrt.specs.presets import PRESETS
from agentrt.specs.tool import ALWAYS
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.tools import BUILT_IN, ToolType
from agentrt.tools.search import glob, grep
from agentrt.workspaces.trees import Trees

GOAL_WITH = 1.2
GOAL_WITHOUT = 10
GOAL_KEPT_MS = 200
GOAL_TOKENS = 12_000

FILES, KEPT = 100_000, 20_000
STEPS = 50
ENDINGS = (".py", ".ts", ".md", ".json", ".c", ".txt", ".log")
RG = ("rg", "--no-config", "--hidden", "-g", "!.git", "--no-require-git")


def make_files(root: Path, count: int) -> None:
    """A tree of source files of some kilobytes, some ignored; one in a hundred has what is looked for."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(3000)]
    root.mkdir(parents=True)
    (root / ".gitignore").write_text("node_modules/\n*.log\nbuild/\n")
    made = 0
    while made < count:
        place = root.joinpath(*chance.choices(words, k=chance.randint(1, 4)))
        place.mkdir(parents=True, exist_ok=True)
        for _ in range(min(chance.randint(3, 30), count - made)):
            lines = [" ".join(chance.choices(words, k=6)) for _ in range(chance.randint(5, 80))]
            if chance.random() < 0.01:
                lines.insert(3, "needle_in_haystack(x)")
            (place / f"f{made}{chance.choice(ENDINGS)}").write_text("\n".join(lines) + "\n")
            made += 1


def _searched(kind: ToolType, root: Path, **arguments: Any) -> float:
    """Seconds of one call."""
    workspace = LocalWorkspace(str(root))
    context: Any = SimpleNamespace(workspace=workspace, files=ReachedFiles(workspace), masked=lambda text, **_: text)
    executor, action = kind.executor({}), kind.read(msgspec.Raw(msgspec.json.encode(arguments)))

    async def ask() -> float:
        begun = time.perf_counter()
        await executor(action, context)
        return time.perf_counter() - begun

    return asyncio.run(ask())


def _ripgrep(root: Path, *arguments: str) -> float:
    begun = time.perf_counter()
    subprocess.run([*RG, *arguments], cwd=root, capture_output=True, check=False)
    return time.perf_counter() - begun


SEARCHES: dict[str, tuple[ToolType, dict[str, str], tuple[str, ...]]] = {
    "grep, the files with a rare word": (grep, {"pattern": "needle"}, ("-l", "needle")),
    "grep, the lines with it": (grep, {"pattern": "needle", "output_mode": "content"}, ("-n", "needle")),
    "glob, one ending": (glob, {"pattern": "**/*.py"}, ("--files", "-g", "*.py", "--sortr=modified")),
    "glob, all files": (glob, {"pattern": "**"}, ("--files", "--sortr=modified")),
}


@contextlib.contextmanager
def _without_ripgrep() -> Iterator[None]:
    before = os.environ["PATH"]
    os.environ["PATH"] = "/nowhere"
    try:
        yield
    finally:
        os.environ["PATH"] = before


def measure_searches(files: int, repeats: int) -> dict[str, list[tuple[float, float, float]]]:
    """Of each search the seconds of ripgrep, of the tool with it, and of the tool without it."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SEARCHES}
    with harness.workplace() as directory:
        root = directory / "files"
        make_files(root, files)
        for round_ in range(repeats + 1):
            for name, (kind, arguments, theirs) in SEARCHES.items():
                bare, ours = _ripgrep(root, *theirs), _searched(kind, root, **arguments)
                with _without_ripgrep():
                    alone = _searched(kind, root, **arguments)
                if round_:  # the first one warms up the page cache
                    found[name].append((bare, ours, alone))
    return found


async def _keep(trees: Trees) -> tuple[float, float]:
    """Milliseconds of one, and the most that the event loop was late meanwhile."""
    lags: list[float] = []
    sampler = asyncio.create_task(harness.sample_lag(lags))
    await asyncio.sleep(0.05)
    begun = time.perf_counter()
    await trees.keep()
    spent = time.perf_counter() - begun
    await asyncio.sleep(0.02)
    sampler.cancel()
    return spent * 1e3, max(lags) * 1e3


def measure_keeping(files: int, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Of the first tree, of one where nothing changed, and of one where ten files did: milliseconds, and lag."""

    async def measure(directory: Path) -> dict[str, list[tuple[float, float]]]:
        root = directory / "files"
        make_files(root, files)
        trees = Trees(str(directory / "trees"), str(root))
        found = {"first": [await _keep(trees)], "unchanged": [], "ten changed": []}
        some = sorted(root.rglob("*.py"))[:10]
        for number in range(repeats):
            found["unchanged"].append(await _keep(trees))
            for path in some:
                path.write_text(f"{number}\n")
            found["ten changed"].append(await _keep(trees))
        return found

    with harness.workplace() as directory:
        return asyncio.run(measure(directory))


@tool
async def touch(n: int) -> str:
    """Does nothing, but might."""
    return "ok"


def measure_step(checkpoints: bool, files: int) -> float:
    """Milliseconds of a step with a tool that may write, in a workspace of so many files."""

    async def steps(directory: Path) -> float:
        work = directory / "work"
        make_files(work, files)
        marks: list[float] = []

        def turn(_: object) -> Any:
            marks.append(time.perf_counter())
            return call("touch", n=len(marks)) if len(marks) < STEPS else finish("Done.")

        agent = Agent(
            llm=LLM(model="scripted"), limits=Limits(max_steps=STEPS + 1), stuck=None, checkpoints=checkpoints
        )
        async with (
            Runtime(directory / "store", client=ScriptedLLM(turn, keep=False)) as runtime,
            Conversation(agent, work, runtime=runtime, tools=[touch]) as conversation,
        ):
            await conversation.send_message("Begin.")
            if (state := await conversation.run()).status is not ExecutionStatus.FINISHED:
                raise RuntimeError(f"the run ended {state.status.value}: {state.error}")
        return statistics.median(after - before for before, after in pairwise(marks[10:])) * 1e3

    with harness.workplace() as directory:
        return asyncio.run(steps(directory))


def tokens(names: Sequence[str]) -> int:
    """About how many tokens the definitions of tools take: a quarter of the characters of their JSON."""
    offered = {name: kind.definition for name, kind in BUILT_IN.items()}
    shown = [
        {"name": one.name, "description": one.description, "parameters": msgspec.json.decode(one.parameters)}
        for one in (offered[name] for name in names)
    ]
    return len(json.dumps(shown)) // 4


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    files, kept, repeats = (2000, 500, 2) if options.quick else (FILES, KEPT, 5)
    figures: list[harness.Figure] = []
    for name, times in measure_searches(files, repeats).items():
        figures += [
            harness.Figure(f"{name}: ripgrep", [bare * 1e3 for bare, _, _ in times], "ms"),
            harness.Figure(f"{name} / ripgrep", [ours / bare for bare, ours, _ in times], "x", GOAL_WITH),
            harness.Figure(f"{name}, without / ripgrep", [alone / bare for bare, _, alone in times], "x", GOAL_WITHOUT),
        ]
    for name, pairs in harness.fresh(measure_keeping, kept, repeats).items():
        goal = GOAL_KEPT_MS if name == "unchanged" else None
        figures += [
            harness.Figure(f"a tree of {kept:,} files, {name}", [spent for spent, _ in pairs], "ms", goal),
            harness.Figure(f"a tree of {kept:,} files, {name}: event loop late", [late for _, late in pairs], "ms"),
        ]
    for small in (20, 2000):
        for checkpoints in (False, True):
            what = f"a step, {small:,} files, {'with' if checkpoints else 'without'} checkpoints"
            values = [harness.fresh(measure_step, checkpoints, small) for _ in range(repeats)]
            figures.append(harness.Figure(what, values, "ms"))
    for name, preset in PRESETS.items():
        count = tokens([*(one.name for one in preset.tools), *ALWAYS])
        figures.append(harness.Figure(f"definitions of {name}", [count], "tokens", GOAL_TOKENS))
    figures.append(harness.Figure("definitions of all tools", [tokens(list(BUILT_IN))], "tokens", GOAL_TOKENS))
    harness.report("bench_tools: the tools for code", figures, options.json)


if __name__ == "__main__":
    main()
