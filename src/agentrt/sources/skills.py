"""Finds the skills of a project, its user and plugins, and decides which one of several counts; for a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ..errors import ConfigurationError
from ..specs.skill import Origin, Skill
from .servers import SERVERS, find_servers
from .skill_files import PACKAGE, command_of, skill_of
from .text import Reader

DIRECTORIES = (".agents/skills", ".openhands/skills", ".openhands/microagents", ".claude/skills")
"""Directories of skills below a workspace, the root of its repository, or a home; the first one takes precedence."""

COMMANDS = (".agents/commands", ".claude/commands")
"""Directories of slash commands, below the same."""

DEPTH = 4
"""Maximum depth of directories below a directory of skills that are searched."""


class Shelf(msgspec.Struct, frozen=True):
    """A directory of skills, and the reader for it."""

    directory: Path
    reader: Reader
    origin: Origin = "project"
    commands: str | None = None
    """For slash commands: the plugin that brings them, by name, or "". Each file is a command, under its own name and
    with the plugin's.
    """


def shelves(roots: Iterable[Path], reader: Reader, origin: Origin = "project") -> tuple[Shelf, ...]:
    """Return the directories of skills below some roots, in order of precedence."""
    found: list[Shelf] = []
    for root in roots:
        there = reader.listing(root).names
        wanted = [(name, None) for name in DIRECTORIES] + [(name, "") for name in COMMANDS]
        found += [
            Shelf(root / name, reader, origin, commands) for name, commands in wanted if name.partition("/")[0] in there
        ]
    return tuple(found)


def find_skills(
    places: Iterable[Shelf], disabled: Iterable[str] = (), known: Iterable[Skill] = ()
) -> tuple[Skill, ...]:
    """Return the `known` skills, then those of some directories; of several with a name, the first one counts.

    Raises nothing: problems are noted by the readers.
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
        name = path.stem if path == place.directory else path.relative_to(place.directory).with_suffix("").as_posix()
        try:
            skill, told = skill_of(text, path, name, place.origin, reader.digests[str(path)])
            if place.commands is not None:
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
    """Yield the skill files below a directory, or the one that it is, each with the file of MCP servers beside it, if
    any. Other files beside a SKILL.md belong to that skill.
    """
    if directory.suffix == ".md" and not directory.is_dir():
        yield directory, None
        return
    entries = reader.entries(directory)
    names = {entry.name for entry in entries}
    if PACKAGE in names:
        yield directory / PACKAGE, directory / SERVERS if SERVERS in names else None
        return
    for entry in entries:
        path = directory / entry.name
        if entry.leads_to_directory():
            if depth:
                yield from _files(path, reader, depth - 1)
        elif path.suffix == ".md" and entry.name.lower() != "readme.md":
            yield path, None
