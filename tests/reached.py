"""The long tests that a change can reach: `python -m tests.reached COMMIT` prints their files, the nearest first.

A test is reached if its module imports a changed one, over however many others, or starts it by `-m`. What takes longer
than the budget, by the seconds that the last whole run took (`.ci/seconds.json`), is left to `nox -s proofs`, and said.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import grimp
import msgspec

ROOT: Final = Path(__file__).parent.parent
SECONDS: Final = ROOT / ".ci" / "seconds.json"
UNKNOWN: Final = 30.0
"""The seconds of a file that no whole run has timed."""
EVERYWHERE: Final = (
    *("pyproject.toml", "noxfile.py", ".ci/run", ".ci/packages"),
    *("tests/conftest.py", "tests/plugins.py", "tests/rings.py", "tests/unsteady.py"),
)
"""What every test depends on, as far from each as any."""
LAST: Final = 1_000

Imports = Mapping[str, frozenset[str]]
"""A module, and those that import it directly or start it."""


class Choice(msgspec.Struct, frozen=True):
    """The files to run, in their order, and those that are reached but take too long."""

    run: tuple[str, ...]
    left: tuple[str, ...]


def distances(changed: Iterable[str], imported_by: Imports) -> dict[str, int]:
    """How many imports each module is away from the nearest changed one."""
    found = dict.fromkeys(changed, 0)
    waiting = deque(found)
    while waiting:
        module = waiting.popleft()
        for importer in imported_by.get(module, ()):
            if importer not in found:
                found[importer] = found[module] + 1
                waiting.append(importer)
    return found


def choose(long: Mapping[str, str], far: Mapping[str, int], seconds: Mapping[str, float], budget: float) -> Choice:
    """Take the files of `long` (file to module) that are reached, nearest first and then shortest, while there is time.

    `budget` is in seconds of one process.
    """
    reached = sorted((far[module], seconds.get(file, UNKNOWN), file) for file, module in long.items() if module in far)
    run, left = list[str](), list[str]()
    for _, takes, file in reached:
        (run if takes <= budget else left).append(file)
        budget -= takes if run and run[-1] == file else 0.0
    return Choice(tuple(run), tuple(left))


def module_of(path: str) -> str | None:
    """The module that a file of the project belongs to; None if no test imports it."""
    parts = Path(path).parts
    if parts[:4] == ("src", "agentrt", "server", "web"):
        return "agentrt.server.pages"
    if parts[:1] == ("src",):
        parts = parts[1:]
    if parts[:1] not in (("agentrt",), ("tests",)) or len(parts) < 2:
        return None
    name = Path(parts[-1])
    inner = parts[:-1] if name.suffix != ".py" or name.stem == "__init__" else (*parts[:-1], name.stem)
    return ".".join(inner)


def modules_of(path: str, known: Container[str]) -> tuple[str, ...]:
    """The module of a file, or the package that has it, as far as there is one among those that are known."""
    module = module_of(path)
    while module and module not in known:
        module = module.rpartition(".")[0]
    return (module,) if module else ()


def imports() -> dict[str, frozenset[str]]:
    """The imports of the project; what is loaded or started by a name in a string; and each module's package, which
    is imported before it.
    """
    graph = grimp.build_graph("agentrt", "tests")
    found = {module: set(graph.find_modules_that_directly_import(module)) for module in graph.modules}
    for module in graph.modules:
        package = module.rpartition(".")[0]
        if package in found:
            found[package].add(module)
    for file in (file for top in ("src", "tests") for file in sorted((ROOT / top).rglob("*.py"))):
        user = module_of(file.relative_to(ROOT).as_posix())
        if user is None or user not in found:
            continue
        for named in _named(user, file.read_text()):
            for module in (named, f"{named}.__main__"):
                if module in found:
                    found[module].add(user)
    return {module: frozenset(importers) for module, importers in found.items()}


def _named(user: str, text: str) -> Iterator[str]:
    """The names of modules that stand in strings: whole, after `-m`, or of a neighbour."""
    yield from re.findall(r"""["']((?:agentrt|tests)(?:\.\w+)*)["']""", text)
    yield from re.findall(r"-m ((?:agentrt|tests)(?:\.\w+)*)", text)
    here = user.rpartition(".")[0]
    yield from (f"{here}.{name}" for name in re.findall(r"""["'](\w+)(?:\.py)?["']""", text))
    yield from (f"{here}{name}" for name in re.findall(r"""["'](?:\{__package__\})?(\.\w+(?:\.\w+)*)["']""", text))


def long_files() -> dict[str, str]:
    """Each file with a long test, and its module."""
    files = (file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "tests").rglob("test_*.py")))
    return {file: module for file in files if "mark.long" in (ROOT / file).read_text() and (module := module_of(file))}


def changed_since(commit: str) -> Iterator[str]:
    """The files that differ from a commit; all of them if this clone does not have it."""
    ran = _git("diff", "--name-only", commit)
    if ran.returncode:
        print(f"{commit} is not in this clone, so all files count as changed", file=sys.stderr)
        ran = _git("ls-files")
    yield from (path for path in ran.stdout.splitlines() if path not in (".ci/proved", ".ci/seconds.json"))


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, check=False, capture_output=True, text=True)


def main() -> None:
    """Print what is to be run; to standard error, what is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="the commit at which all long tests passed")
    parser.add_argument("--seconds", type=float, default=600.0, help="of all processes together")
    given = parser.parse_args()
    files = list(changed_since(given.commit))
    imported_by = imports()
    far = distances({module for file in files for module in modules_of(file, imported_by)}, imported_by)
    long = long_files()
    if any(file.startswith(EVERYWHERE) for file in files):
        far = dict.fromkeys(long.values(), LAST) | far
    seconds = msgspec.json.decode(SECONDS.read_bytes(), type=dict[str, float]) if SECONDS.exists() else {}
    choice = choose(long, far, seconds, given.seconds)
    print(*choice.run, sep="\n")
    for file in choice.left:
        print(f"left to 'nox -s proofs': {file} ({seconds.get(file, UNKNOWN):.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    main()
