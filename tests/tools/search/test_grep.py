"""`grep`, with ripgrep and without."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from agentrt.errors import ToolError
from agentrt.secrets import SecretRegistry
from agentrt.specs.content import plain
from agentrt.tools.search import grep
from agentrt.tools.search.grep import GrepObservation
from agentrt.tools.search.long_lines import WIDTH

from ..context import WALL, FakeContext

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("searched_by", "walls")]


@pytest.fixture(params=["ripgrep", "our program"])
def searched_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each of the two."""
    if request.param == "our program":
        monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Some files, from the oldest to the newest."""
    root = tmp_path / "project"
    for age, (path, text) in enumerate({
        "src/old.py": "import os\nx = needle(1)\n",
        "README.md": "No needle here?\nA needle.\n",
        "src/new.py": "def needle(x):\n    return x\n\n\n\ny = needle(2)\n",
        ".github/ci.yml": "run: needle\n",
        ".gitignore": "*.log\n",
        "ignored.log": "needle\n",
        ".git/config": "needle\n",
    }.items()):  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        os.utime(root / path, (1_000_000 + age, 1_000_000 + age))
    return root


async def call(at: FakeContext, **arguments: Any) -> GrepObservation:
    """One call, with its arguments as a model sends them."""
    executor = grep.executor({})
    found = await executor(grep.read(msgspec.Raw(msgspec.json.encode(arguments))), at)
    await executor.aclose()
    assert isinstance(found, GrepObservation)
    return found


async def told(project: Path, **arguments: Any) -> str:
    """What the model sees of one call."""
    return plain((await call(FakeContext(project), **arguments)).content)


async def test_the_newest_file_comes_first(project: Path) -> None:
    assert await told(project, pattern="needle") == (
        "6 lines match in 4 files, the newest file first:\n.github/ci.yml\nsrc/new.py\nREADME.md\nsrc/old.py"
    )


async def test_lines_with_what_is_around_them(project: Path) -> None:
    said = await told(project, pattern=r"needle\(\d", include="*.py", output_mode="content", context=1)
    assert said == (
        "2 lines match in 2 files, the newest file first:\n\nsrc/new.py\n5-\n6:y = needle(2)\n\n"
        "src/old.py\n1-import os\n2:x = needle(1)"
    )


async def test_how_many_lines_match(project: Path) -> None:
    said = await told(project, pattern="NEEDLE", path="src", output_mode="count", ignore_case=True)
    assert said == "3 lines match in 2 files, the newest file first:\nsrc/new.py:2\nsrc/old.py:1"


async def test_only_some_files(project: Path) -> None:
    assert await told(project, pattern="needle", include="src/**/o*.{py,js}") == "1 line matches in 1 file:\nsrc/old.py"


async def test_one_file(project: Path) -> None:
    said = await told(project, pattern="needle", path=str(project / "README.md"), output_mode="content")
    assert said == "2 lines match in 1 file:\n\nREADME.md\n1:No needle here?\n2:A needle."


async def test_what_ignore_files_leave_out(project: Path) -> None:
    assert "ignored.log" in await told(project, pattern="needle", include_ignored=True)
    assert await told(project, pattern="needle", include="*.log") == (
        "No line matches. Files that .gitignore leaves out were not searched."
    )


async def test_no_more_than_were_asked_for(project: Path) -> None:
    said = await call(FakeContext(project), pattern="needle", limit=2)
    assert plain(said.content) == (
        "6 lines match in 4 files. The first 2 files of the newest files; narrow it with path or include:\n"
        ".github/ci.yml\nsrc/new.py"
    )
    assert (said.files, said.matches, said.truncated) == (4, 6, True)
    lines = await call(FakeContext(project), pattern="needle", limit=2, output_mode="content")
    assert plain(lines.content).endswith(".github/ci.yml\n1:run: needle\n\nsrc/new.py\n1:def needle(x):")
    assert lines.truncated


async def test_a_long_line_is_cut(project: Path) -> None:
    (project / "long.txt").write_text("haystack " * 100_000 + "\n")
    said = await told(project, pattern="haystack", output_mode="content")
    assert len(said) < WIDTH + 200
    assert said.endswith("[... more]")


@pytest.mark.parametrize("before", [0, 300, 450, 3000, 3900, 5000, 200_000])
async def test_of_a_long_line_what_is_around_the_match_is_shown(project: Path, before: int) -> None:
    (project / "min.js").write_text("short\n" + "ä" * before + "needle" + "z" * 10_000 + "\nneedle\n")
    said = await told(project, pattern="needle", path="min.js", output_mode="content", context=1)
    first, second, third = said.split("\n\nmin.js\n")[1].split("\n")
    assert (first, third) == ("1-short", "3:needle")
    assert "needlezzz" in second
    assert second.startswith("2:[more ...] ää" if before > 300 else "2:ä" if before else "2:needle")
    assert len(second) < WIDTH + 40


async def test_where_a_match_is_that_cannot_be_shown(project: Path) -> None:
    (project / "wide.txt").write_bytes(("x" * 9000 + "needle\n").encode("utf-16"))
    said = await told(project, pattern="needle", path="wide.txt", output_mode="content")
    assert said.endswith(" [... more; the match is at byte 9,001 of the line]")


@pytest.mark.parametrize("before", [1000, 494, 380, 3990, 10_000])
@pytest.mark.parametrize("pattern", ["hush", "-hush-hush2", "KEY", "=h"])
async def test_a_secret_at_the_edge_of_what_is_shown_is_masked(project: Path, before: int, pattern: str) -> None:
    registry = SecretRegistry({"KEY": "hush-hush-hush2"})
    (project / "min.js").write_text(
        "x" * before + "KEY=hush-hush-hush2" + "y" * 363 + "KEY=hush-hush-hush2" + "z" * 9000
    )
    at = FakeContext(project, registry=registry)
    said = plain((await call(at, pattern=pattern, path="min.js", output_mode="content")).content)
    assert "1 line matches" in said
    assert "hush" not in said


async def test_names_that_are_no_utf8(project: Path) -> None:
    (project / os.fsdecode(b"bad\xff.txt")).write_text("needle here\n")
    for pattern in ("needle here", "needle here(?=$)"):
        for mode in ("files_with_matches", "content", "count"):
            assert "bad�.txt" in await told(project, pattern=pattern, output_mode=mode)
    inner = project / os.fsdecode(b"dir\xff")
    inner.mkdir()
    (inner / "a.txt").write_text("needle here\n")
    assert "\na.txt\n1:needle" in await told(inner, pattern="needle(?= )", output_mode="content")


async def test_an_ignore_file_that_is_a_pipe_is_not_waited_for(project: Path) -> None:
    (project / ".gitignore").unlink()
    os.mkfifo(project / ".gitignore")
    with anyio.fail_after(30):
        assert "5 files" in await told(project, pattern="needle")


async def test_a_binary_file_is_refused_by_name(project: Path) -> None:
    (project / "binary").write_bytes(b"needle\n\0needle\n")
    with pytest.raises(ToolError, match="binary is a binary file: use the terminal"):
        await told(project, pattern="needle", path="binary")
    assert "binary" not in await told(project, pattern="needle")


async def test_a_line_longer_than_all_that_is_read_hides_no_other(project: Path) -> None:
    with (project / "min.js").open("w") as file:
        file.writelines("needle;" * 1000 for _ in range(3000))
    said = await told(project, pattern="needle", output_mode="content")
    assert "min.js\n1:needle;" in said
    assert "src/old.py\n2:x = needle(1)" in said


async def test_a_name_with_a_newline(project: Path) -> None:
    (project / "a\nb.txt").write_text("needle\n")
    assert "a\\nb.txt\n" in await told(project, pattern="needle")
    assert "a\\nb.txt\n1:needle" in await told(project, pattern="needle", output_mode="content", context=1)


@pytest.mark.simulated
async def test_a_pipe_is_not_waited_for(project: Path) -> None:
    os.mkfifo(project / "pipe")
    with pytest.raises(ToolError, match="neither a file nor a directory"):
        await told(project, pattern="needle", path="pipe")


@pytest.mark.parametrize("pattern", ["a\0b", "a" * 20_000, "a\\nb", "(" * 5000, "(" * 3000 + "(?=n)" + ")" * 3000])
async def test_what_no_search_can_be_made_of(project: Path, pattern: str) -> None:
    with pytest.raises(ToolError):
        await told(project, pattern=pattern)


async def test_looking_around_and_back(project: Path) -> None:
    assert "1 line matches" in await told(project, pattern=r"(?<=x = )needle")
    assert "1 line matches" in await told(project, pattern=r"(e)\1dle\?|needle\.$")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"pattern": "foo("}, "not a pattern: missing \\)"),
        ({"pattern": "[a"}, "not a pattern: "),
        ({"pattern": ""}, "pattern is empty"),
        ({"pattern": "a\nb"}, "one line at a time"),
        ({"pattern": "x", "path": "nowhere"}, "nowhere does not exist"),
        ({"pattern": "x", "include": "{a,b}{1..99}"}, "more than 100 patterns"),
        ({"pattern": "x", "include": "!a"}, "is not a pattern of paths"),
    ],
)
async def test_what_cannot_be_searched(project: Path, arguments: dict[str, str], why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await call(FakeContext(project), **arguments)


async def test_a_brace_that_is_meant_as_one(project: Path) -> None:
    (project / "a.go").write_text("func main() {\n")
    assert "a.go" in await told(project, pattern=r"main\(\) {")


async def test_secrets_are_masked(project: Path) -> None:
    (project / "env").write_text("KEY=hush-hush-hush\n")
    registry = SecretRegistry({"KEY": "hush-hush-hush"})
    context = FakeContext(project, registry=registry)
    said = plain((await call(context, pattern="KEY", output_mode="content")).content)
    assert "KEY=" in said
    assert "hush" not in said


async def test_links_are_not_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_text("needle\n")
    (project / "link").symlink_to(tmp_path / "outside")
    (project / "file-link").symlink_to(tmp_path / "outside/x")
    assert "outside" not in await told(project, pattern="needle")
    assert "link" not in await told(project, pattern="needle")
    if WALL.confine == "off":
        assert str(tmp_path / "outside/x") in await told(project, pattern="needle", path="link")
    else:
        with pytest.raises(ToolError, match="does not exist"):
            await told(project, pattern="needle", path="link")
