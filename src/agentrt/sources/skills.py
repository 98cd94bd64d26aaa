"""The skills of a project and of its user: where they are, and which of two with one name counts; for a thread."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ..errors import ConfigurationError
from ..specs.skill import Skill
from .skill_files import PACKAGE, skill_of
from .text import Problem, Reader

DIRECTORIES = (".agents/skills", ".openhands/skills", ".openhands/microagents")
"""Below a workspace, the root of its repository, or a home; the first one counts."""

DEPTH = 4
"""Directories below one of skills that are gone into."""


class Skills(msgspec.Struct, frozen=True):
    """The skills that were found, those that come first first, and what was wrong."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()


def find_skills(roots: Iterable[Path], disabled: Iterable[str] = ()) -> Skills:
    """The skills below some roots, of which those of an earlier one count. Raises nothing."""
    reader, found, left_out = Reader(), dict[str, Skill](), set(disabled)
    for root in roots:
        for name in DIRECTORIES:
            for skill in _below(root / name, reader):
                if skill.name in left_out:
                    continue
                if (first := found.setdefault(skill.name, skill)) is not skill:
                    reader.tell(Path(skill.path), f"has the name of {first.path}, which counts: {skill.name!r}")
    return Skills(tuple(found.values()), tuple(reader.problems))


def _below(directory: Path, reader: Reader) -> Iterator[Skill]:
    for path in _files(directory, reader, DEPTH):
        text = reader.read(path)
        if text is None:
            continue
        try:
            skill, told = skill_of(text, path, path.relative_to(directory).with_suffix("").as_posix())
        except ConfigurationError as error:
            reader.tell(path, str(error))
            continue
        for what in told:
            reader.tell(path, what)
        yield skill


def _files(directory: Path, reader: Reader, depth: int) -> Iterator[Path]:
    """The files with a skill below a directory; what stands beside a SKILL.md is what that skill brings along."""
    entries = reader.entries(directory)
    if any(entry.name == PACKAGE for entry in entries):
        yield directory / PACKAGE
        return
    for entry in entries:
        path = directory / entry.name
        if _is_directory(entry):
            if depth:
                yield from _files(path, reader, depth - 1)
        elif path.suffix == ".md" and entry.name.lower() != "readme.md":
            yield path


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False
