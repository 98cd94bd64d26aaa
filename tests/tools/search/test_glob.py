"""`glob`, with ripgrep and without."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from agentrt.errors import ToolError
from agentrt.specs.content import plain
from agentrt.tools.search import glob

from ..context import FakeContext

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("walls")]


@pytest.fixture(autouse=True, params=["ripgrep", "our program"])
def _searched_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each of the two."""
    if request.param == "our program":
        monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Some empty files, from the oldest to the newest."""
    root = tmp_path / "project"
    paths = (
        "a.py",
        "src/b.py",
        "src/deep/c.ts",
        "src/deep/d.tsx",
        ".github/ci.yml",
        "x.log",
        ".gitignore",
        ".git/e.py",
    )
    for age, path in enumerate(paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("*.log\n" if path == ".gitignore" else "")
        os.utime(root / path, (1_000_000 + age, 1_000_000 + age))
    return root


async def told(project: Path, **arguments: Any) -> str:
    """What the model sees of one call, with its arguments as a model sends them."""
    found = await glob.executor({})(glob.read(msgspec.Raw(msgspec.json.encode(arguments))), FakeContext(project))
    return plain(found.content)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["src/b.py", "a.py"]),
        ("**/*.py", ["src/b.py", "a.py"]),
        ("/a.py", ["a.py"]),
        ("src/*", ["src/b.py"]),
        ("src/", ["src/deep/d.tsx", "src/deep/c.ts", "src/b.py"]),
        ("./src/**/*.{ts,tsx}", ["src/deep/d.tsx", "src/deep/c.ts"]),
        ("*.y*", [".github/ci.yml"]),
        ("*.log", []),
        ("[ab].p?", ["src/b.py", "a.py"]),
        ("nothing", []),
    ],
)
async def test_patterns(project: Path, pattern: str, found: list[str]) -> None:
    if pattern == "/a.py":
        pattern = f"{project}/a.py"
    assert (await told(project, pattern=pattern)).split("\n")[1:] == found


async def test_what_is_said(project: Path) -> None:
    assert await told(project, pattern="b.py") == "1 file:\nsrc/b.py"
    assert await told(project, pattern="*.py") == "2 files, the newest first:\nsrc/b.py\na.py"
    assert await told(project, pattern="**", limit=1) == (
        "6 files. The 1 that were changed last; narrow it with path or pattern:\n.gitignore"
    )
    assert await told(project, pattern="*.log") == "No file fits. Files that .gitignore leaves out were not listed."
    assert await told(project, pattern="*.log", include_ignored=True) == "1 file:\nx.log"
    assert await told(project, pattern="*.ts*", path="src/deep") == (
        "2 files, the newest first:\nsrc/deep/d.tsx\nsrc/deep/c.ts"
    )


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"pattern": ""}, "pattern is empty"),
        ({"pattern": "*", "path": "nowhere"}, "does not exist"),
        ({"pattern": "*", "path": "a.py"}, "a.py is a file"),
        ({"pattern": "{1..999}"}, "more than 100 patterns"),
        ({"pattern": "!x"}, "no pattern|not a pattern"),
        ({"pattern": "x", "path": "a\0b"}, "NUL|characters"),
    ],
)
async def test_what_cannot_be_looked_for(project: Path, arguments: dict[str, str], why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await told(project, **arguments)


@pytest.mark.simulated
async def test_braces_without_end(project: Path) -> None:
    with pytest.raises(ToolError):
        await told(project, pattern="{" * 3000 + "a")


async def test_an_absolute_pattern_means_what_is_there_and_not_below(project: Path) -> None:
    (project / "src/a.py").write_text("")
    assert await told(project, pattern=f"{project}/a.py") == "1 file:\na.py"
    with anyio.fail_after(20):  # and does not look at all that is below
        assert await told(project, pattern="/nothing.like.it") == (
            "No file fits. Files that .gitignore leaves out were not listed."
        )
