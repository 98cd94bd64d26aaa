"""Where skills are, which of two counts, and what a directory that somebody else wrote may hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentrt.sources.skills import find_skills, shelves
from agentrt.sources.text import MOST_BYTES, Reader
from agentrt.specs.context import ContextProblem
from agentrt.specs.skill import Skill

pytestmark = pytest.mark.simulated


def found_in(*roots: Path, disabled: tuple[str, ...] = ()) -> tuple[tuple[Skill, ...], tuple[ContextProblem, ...]]:
    reader = Reader()
    skills = find_skills(shelves(roots, reader), disabled)
    return skills, tuple(reader.problems)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def package(root: Path, name: str, description: str = "d", directory: str = ".agents/skills") -> Path:
    return write(root / directory / name / "SKILL.md", f"---\nname: {name}\ndescription: {description}\n---\nBody\n")


def test_a_project_wins_over_its_user_and_the_first_directory_over_others(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    first = package(project, "a", "the project's")
    second = package(project, "a", "older", ".openhands/skills")
    package(home, "a", "the user's")
    package(home, "b")
    write(project / ".openhands/microagents/team/style.md", "---\ntriggers: [style]\n---\nBe plain.")
    skills, problems = found_in(project, home, disabled=("b",))
    assert [(skill.name, skill.description) for skill in skills] == [("a", "the project's"), ("team/style", "")]
    assert problems[0].path == str(second)
    assert str(first) in problems[0].what


def test_what_a_skill_brings_along_is_no_skill(tmp_path: Path) -> None:
    made = package(tmp_path, "a")
    write(made.parent / "references" / "more.md", "More.")
    write(tmp_path / ".agents/skills/README.md", "About these.")
    write(tmp_path / ".agents/skills/notes.txt", "Notes.")
    assert [skill.name for skill in found_in(tmp_path)[0]] == ["a"]


def test_links_are_followed_once(tmp_path: Path) -> None:
    made = package(tmp_path, "a")
    skills = tmp_path / ".agents/skills"
    (skills / "again").symlink_to(made.parent)
    (skills / "round").symlink_to(skills)
    (skills / "itself").symlink_to(skills / "itself")
    (skills / "nowhere.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / ".openhands").symlink_to(tmp_path / ".agents")
    found, problems = found_in(tmp_path, tmp_path)
    assert [skill.name for skill in found] == ["a"]
    assert problems == ()


def test_what_cannot_be_used_is_told_and_the_others_are_found(tmp_path: Path) -> None:
    skills = tmp_path / ".agents/skills"
    package(tmp_path, "good")
    write(skills / "broken.md", "---\nname: [\n---\n")
    write(skills / "large.md", "x" * (MOST_BYTES + 1))
    (skills / "binary.md").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(skills / "pipe.md")
    (skills / "directory.md").mkdir()
    found, problems = found_in(tmp_path)
    assert [skill.name for skill in found] == ["good"]
    assert {Path(problem.path).name: problem.what.split(" (")[0] for problem in problems} == {
        "broken.md": "its front matter is not YAML",
        "large.md": "is larger than 1 MiB, and was passed over",
        "binary.md": "is not text in UTF-8",
    }


def test_a_project_without_any_has_none(tmp_path: Path) -> None:
    assert found_in(tmp_path, tmp_path / "nowhere") == ((), ())
