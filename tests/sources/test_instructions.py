"""Which files instruct an agent, and for which part of a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.sources.instructions import LONGEST, find_instructions, repository_of
from agentrt.sources.text import Reader

from .test_skills import write

pytestmark = pytest.mark.simulated


def found(workspace: Path, family: str = "") -> tuple[list[str], list[tuple[str, tuple[str, ...]]], Reader]:
    root = repository_of(workspace)
    reader = Reader(root)
    documents, nested = find_instructions(workspace, root, reader, family)
    return [d.name for d in documents], [(skill.name, skill.paths) for skill in nested], reader


def test_those_of_the_repository_come_before_those_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "AGENTS.md", "a")
    write(tmp_path / "libs/AGENTS.md", "b")
    write(tmp_path / "libs/one/agents.md", "c")
    write(tmp_path / "libs/one/.cursorrules", "d")
    names, nested, _ = found(tmp_path / "libs/one")
    assert names == [str(tmp_path / "AGENTS.md"), str(tmp_path / "libs/AGENTS.md"), "agents.md", ".cursorrules"]
    assert nested == []


def test_nested_ones_hold_for_their_directory(tmp_path: Path) -> None:
    write(tmp_path / "web/app/AGENTS.md", "a")
    write(tmp_path / "we*b/GEMINI.md", "b")
    for passed_over in ("node_modules/x", ".hidden", "build"):
        write(tmp_path / passed_over / "AGENTS.md", "no")
    (tmp_path / "again").symlink_to(tmp_path / "web")
    _, nested, _ = found(tmp_path)
    assert nested == [("we*b/GEMINI.md", ("/we?b/**",)), ("web/app/AGENTS.md", ("/web/app/**",))]


@pytest.mark.parametrize(
    ("files", "family", "names"),
    [
        (("AGENTS.md", "CLAUDE.md", "GEMINI.md"), "claude", ["AGENTS.md", "CLAUDE.md"]),
        (("AGENTS.md", "CLAUDE.md"), "gemini", ["AGENTS.md"]),
        (("CLAUDE.md",), "gemini", ["CLAUDE.md"]),
        (("AGENTS.md", "CLAUDE.md", "GEMINI.md"), "gpt", ["AGENTS.md"]),
        (("AGENTS.md", "CLAUDE.md"), "", ["AGENTS.md", "CLAUDE.md"]),
    ],
)
def test_those_of_one_vendor_are_for_its_models_where_there_are_others(
    tmp_path: Path, files: tuple[str, ...], family: str, names: list[str]
) -> None:
    for name in files:
        write(tmp_path / name, name)
    assert found(tmp_path, family)[0] == names


def test_one_that_is_long_is_cut_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path / "AGENTS.md", "x" * (LONGEST + 5))
    reader = Reader(tmp_path)
    (document,), _ = find_instructions(tmp_path, tmp_path, reader)
    assert document.text.endswith(f"[The file is longer: 5 characters more are in {tmp_path / 'AGENTS.md'}.]")
    assert "was cut at" in reader.problems[0].what


def test_links_lead_to_a_file_once_and_never_out_of_the_repository(tmp_path: Path) -> None:
    place = tmp_path / "place"
    write(place / "docs/rules.md", "a")
    write(tmp_path / "key", "secret")
    (place / "AGENTS.md").symlink_to("docs/rules.md")
    (place / "CLAUDE.md").symlink_to("AGENTS.md")
    (place / "GEMINI.md").symlink_to(tmp_path / "key")
    names, _, reader = found(place)
    assert names == ["AGENTS.md"]
    assert [(Path(p.path).name, p.what) for p in reader.problems] == [
        ("GEMINI.md", "leads out of the repository, and was passed over")
    ]
