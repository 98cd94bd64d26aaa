"""The shape of the project itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import agentrt

ROOT = Path(__file__).parent.parent
MODULES = sorted(path for path in (ROOT / "src").rglob("*.py") if "demo_project" not in path.parts)


def test_every_module_is_under_400_lines() -> None:
    long = {str(path): count for path in MODULES if (count := len(path.read_text().splitlines())) >= 400}
    assert not long


def test_every_module_says_what_it_owns() -> None:
    assert [str(path) for path in MODULES if not path.read_text().startswith('"""')] == []


def test_what_is_public_is_what_all_says() -> None:
    public = {name for name, value in vars(agentrt).items() if not name.startswith("_") and not _module(value)}
    assert public == set(agentrt.__all__)
    assert sorted(agentrt.__all__, key=_ordering) == agentrt.__all__


def _module(value: object) -> bool:
    return type(value).__name__ == "module"


def _ordering(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_importing_it_is_light() -> None:
    """The heavy libraries are loaded by the part that uses them."""
    program = "import sys, agentrt; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"litellm", "aiohttp", "mcp", "starlette", "hypercorn", "aiodocker", "rich", "click", "pydantic", "httpx"}
    assert not heavy & set(loaded)


def test_no_module_starts_a_task_of_its_own_or_swallows_a_failure_unsaid() -> None:
    for path in MODULES:
        text = path.read_text()
        assert not re.search(r"asyncio\.(create_task|ensure_future)\(", text), path
        assert not re.search(r"except (Base)?Exception:\s*(#.*)?\n\s*pass", text), path


OPEN = {"checking"}
"""Modules of `storage` that others may import: `agentrt log verify` and `repair` are about files by nature."""


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
        assert not re.search(r"\bstore\.(root|directory|parts|catalogue|read)\b|events\.jsonl\"", text), path
