"""The shape of the project itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import agentrt

pytestmark = pytest.mark.pure

ROOT = Path(__file__).parent.parent
MODULES = sorted(path for path in (ROOT / "src").rglob("*.py") if "demo_project" not in path.parts)


def test_no_module_has_more_than_1000_lines() -> None:
    long = {str(path): count for path in MODULES if (count := len(path.read_text().splitlines())) > 1_000}
    assert not long


OLD_PACKAGES = 46
"""Packages from before each had a face and underscored modules: their number only goes down."""


def test_a_new_package_has_a_face_and_underscored_modules() -> None:
    without = [package for package in sorted({path.parent for path in MODULES}) if not _has_face(package)]
    assert len(without) <= OLD_PACKAGES, without


def _has_face(package: Path) -> bool:
    face = package / "__init__.py"
    modules = [path.stem for path in package.glob("*.py") if path.stem not in ("__init__", "__main__")]
    return face.exists() and "__all__" in face.read_text() and all(name.startswith("_") for name in modules)


def test_every_module_says_what_it_owns() -> None:
    assert [str(path) for path in MODULES if not path.read_text().startswith('"""')] == []


@pytest.mark.simulated
def test_what_is_public_is_what_all_says() -> None:
    assert [name for name in agentrt.__all__ if not hasattr(agentrt, name)] == []
    assert dir(agentrt) == sorted([*agentrt.__all__, "__version__"])
    assert sorted(agentrt.__all__, key=_ordering) == agentrt.__all__


def _ordering(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.real
def test_importing_it_is_light() -> None:
    """The heavy libraries are loaded by the part that uses them."""
    program = """
import sys
from agentrt import *
from agentrt.tools import BUILT_IN
list(BUILT_IN.values())
print(*sorted(sys.modules))
"""
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "prompt_toolkit",
        "pyte",
        "regex",
        "pathspec",
        "bracex",
        "litellm",
        "aiohttp",
        "mcp",
        "starlette",
        "hypercorn",
        "aiodocker",
        "rich",
        "click",
        "pydantic",
        "httpx",
        "httpx2",
        "pycurl",
        "lxml",
        "trafilatura",
        "markdownify",
        "mammoth",
        "pdfplumber",
        "PIL",
        "pptx",
        "pylatexenc",
        "pypdfium2",
        "python_calamine",
    }
    assert not heavy & set(loaded)


KNOW_TOOLS = (
    *("tools/", "cli/demo.py", "specs/agent.py", "specs/built_in_agents.py", "specs/presets.py"),
    *("server/endpoints/controls.py", "upcasters.py", "compat/"),
)
"""What may name a built-in tool: the tools, the demonstration, the default of an agent and the agents that there are
always, an example, old logs, and the names of another SDK."""


def test_nothing_knows_a_tool_by_its_name() -> None:
    for path in MODULES:
        here = path.relative_to(ROOT / "src" / "agentrt").as_posix()
        if not here.startswith(KNOW_TOOLS):
            assert not re.search(r"""["'](terminal|file_editor|task_tracker)["']""", path.read_text()), path
            assert not re.search(r"""tool_name (==|!=|in|not in) \(?["'A-Z]""", path.read_text()), path


EXCUSED = {
    "actors/core/supervisor.py": "an actor is begun from a callback of the loop, and a task group starts a task only"
    " from another one: this one does only that, and who leaves the supervisor waits for it",
    "sandboxes/asked.py": "the thread of a tool asks the event loop, waits for the answer, and cancels it",
    "sandboxes/by_command/_far.py": "it is a program of its own, which has nothing but Python's library",
}
"""The modules that start a task outside of a task group, once each, and why."""


@pytest.mark.simulated
def test_only_the_places_know_kinds_of_workspaces() -> None:
    """A new kind is a struct and a place: nothing else decides by what kind it is."""
    kinds = re.compile(r"isinstance\([^()]*\b(?:Local|Docker|Missing|Memory)Workspace\b")
    places = ROOT / "src/agentrt/sandboxes"
    known = [str(path) for path in MODULES if kinds.search(path.read_text()) and places not in path.parents]
    assert known == [str(ROOT / "src/agentrt/compat/openhands/_conversations.py")]  # it has a class of that name


def test_every_task_is_in_a_task_group_but_for_those_that_are_excused() -> None:
    found = [name for path in MODULES for name in _bare_tasks(path)]
    assert found == list(EXCUSED)


def _bare_tasks(path: Path) -> list[str]:
    """Its name for each place that names what starts a task, of whatever, and whether it is called there."""
    names = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(ast.parse(path.read_text())))
    return [path.relative_to(ROOT / "src/agentrt").as_posix() for name in names if name in _STARTS]


_STARTS = frozenset({"create_task", "ensure_future", "run_coroutine_threadsafe"})


def test_no_module_swallows_a_failure_unsaid() -> None:
    for path in MODULES:
        text = path.read_text()
        assert not re.search(r"except (Base)?Exception:\s*(#.*)?\n\s*pass", text), path


OPEN = {"checking"}
"""Modules of `storage` that others may import: `agentrt log verify` and `repair` are about files by nature."""


@pytest.mark.simulated
def test_nobody_knows_how_a_storage_keeps_things() -> None:
    """All that others use is `agentrt.storage` itself and `agentrt.storing`; a file's parts and offsets are its own."""
    inside = ROOT / "src" / "agentrt" / "storage"
    modules = {path.stem for path in inside.glob("*.py")} - {"__init__"}
    for path in MODULES:
        if inside in path.parents:
            continue
        text = path.read_text()
        for module in re.findall(r"(?:from|import) [.\w]*\bstorage\.(\w+)", text):
            assert module in OPEN, f"{path} imports storage.{module}"
        for names in re.findall(r"from [.\w]*\bstorage import ([^\n(]+|\([^)]*\))", text):
            assert not modules & set(re.findall(r"\w+", names)) - OPEN, path
        assert not re.search(r"from [.\w]* import [^\n]*\bstorage\b|import agentrt\.storage\b", text), path
        assert not re.search(r"from [.\w]*\bstorage(\.\w+)? import [^\n]*\b_", text), path
        assert not re.search(r"\bstore\.(root|directory|parts|catalogue|read)\b|events\.jsonl\"", text), path
