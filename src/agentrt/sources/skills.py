"""The skills of a project, its user and plugins: where they are, and which of two counts; for a thread."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ..errors import ConfigurationError
from ..specs.skill import Origin, Skill
from .servers import SERVERS, find_servers
from .skill_files import PACKAGE, command_of, skill_of
from .text import Reader

DIRECTORIES = (".agents/skills", ".openhands/skills", ".openhands/microagents")
"""Below a workspace, the root of its repository, or a home; the first one counts."""

DEPTH = 4
"""Directories below one of skills that are gone into."""


class Shelf(msgspec.Struct, frozen=True):
    """A directory of skills, and what reads it."""

    directory: Path
    reader: Reader
    origin: Origin = "project"
    commands: str = ""
    """Of a plugin's commands its name: each file is a task by its own name, and by both."""


def shelves(roots: Iterable[Path], reader: Reader, origin: Origin = "project") -> tuple[Shelf, ...]:
    """The directories of skills below some roots, those that count first."""
    return tuple(Shelf(root / name, reader, origin) for root in roots for name in DIRECTORIES)


def find_skills(
    places: Iterable[Shelf], disabled: Iterable[str] = (), known: Iterable[Skill] = ()
) -> tuple[Skill, ...]:
    """The skills that are `known`, then those of some directories, of which the earlier ones count.

    Raises nothing: what is wrong is told to the readers.
    """
    left_out = set(disabled)
    found = {skill.name: skill for skill in known if skill.name not in left_out}
    for place in places:
        for skill in _below(place):
            if skill.name in left_out:
                continue
            if (first := found.setdefault(skill.name, skill)) is not skill:
                winner = first.path or "one of the program"
                place.reader.tell(Path(skill.path), f"has the name of {winner}, which counts: {skill.name!r}")
    return tuple(found.values())


def _below(place: Shelf) -> Iterator[Skill]:
    reader = place.reader
    for path, servers in _files(place.directory, reader, DEPTH):
        text = reader.read(path)
        if text is None:
            continue
        name = path.relative_to(place.directory).with_suffix("").as_posix()
        try:
            skill, told = skill_of(text, path, name, place.origin, reader.digests[str(path)])
            if place.commands:
                skill = command_of(skill, name, place.commands)
            if servers is not None:
                brought = {**find_servers(servers, reader), **skill.brought}
                names = tuple(dict.fromkeys((*skill.servers, *brought)))
                skill = msgspec.structs.replace(skill, servers=names, brought=brought)
        except ConfigurationError as error:
            reader.tell(path, str(error))
            continue
        for what in told:
            reader.tell(path, what)
        yield skill


def _files(directory: Path, reader: Reader, depth: int) -> Iterator[tuple[Path, Path | None]]:
    """The files with a skill below a directory, and the file of MCP servers beside each; what else stands beside a
    SKILL.md is what that skill brings along.
    """
    entries = reader.entries(directory)
    names = {entry.name for entry in entries}
    if PACKAGE in names:
        yield directory / PACKAGE, directory / SERVERS if SERVERS in names else None
        return
    for entry in entries:
        path = directory / entry.name
        if _is_directory(entry):
            if depth:
                yield from _files(path, reader, depth - 1)
        elif path.suffix == ".md" and entry.name.lower() != "readme.md":
            yield path, None


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False
