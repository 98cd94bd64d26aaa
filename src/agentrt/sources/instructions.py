"""Finds the instructions of a repository: AGENTS.md and the like, at its root and in the directories they apply to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ..context.telling import prose
from ..specs.context import Document
from ..specs.skill import Skill
from .listing import Listing
from .text import Reader

NAMES = ("agents.md", "agent.md", "claude.md", "gemini.md", ".cursorrules")
"""Files of instructions, in lower case. A vendor's file applies to all models if its directory has no general file."""

VENDORS = {"claude.md": "claude", "gemini.md": "gemini"}
"""The families of models that some of them are written for."""

IMPORTING = frozenset({"claude.md"})
"""Files that may import others by `@path`."""

DEEPEST = 5
"""Maximum depth of imports within imports."""

_IMPORT = re.compile(r"(?<![\w`@/.])@((?:~/|\.{0,2}/)?[\w.-]+(?:/[\w.-]+)*)")

LONGEST = 32_768
"""Maximum number of characters of a file that are shown."""

DEPTH = 8
"""Maximum depth of directories below a workspace that are searched."""

PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "vendor", "target", "build", "dist"})
"""Directories that are skipped: their files are generated, or somebody else's. Hidden ones are skipped, too."""


def repository_of(workspace: Path) -> Path:
    """Return the root of the git repository that contains a directory; the directory itself if there is none."""
    for directory in (workspace, *workspace.parents):
        if (directory / ".git").exists():
            return directory
    return workspace


def find_instructions(
    workspace: Path, root: Path, reader: Reader, family: str = ""
) -> tuple[tuple[Document, ...], tuple[Skill, ...]]:
    """Return the instructions for a whole workspace, from the root of its repository on, and those for parts of it, as
    skills that are activated by paths.
    """
    above = (workspace, *workspace.parents)
    chain = [directory for directory in reversed(above) if directory == root or root in directory.parents]
    documents = tuple(document for directory in chain for document in _in(directory, workspace, reader, family))
    nested = tuple(
        _skill(document, directory, workspace)
        for directory in _with_instructions(reader.below(workspace, DEPTH, _is_searched))
        for document in _in(directory, workspace, reader, family)
    )
    return documents, nested


def _is_searched(name: str) -> bool:
    return name[0] != "." and name not in PASSED_OVER


def _with_instructions(directories: Iterable[tuple[str, Listing]]) -> Iterator[Path]:
    """Yield the few directories that have instructions."""
    for path, found in directories:
        if not found.names.keys().isdisjoint(NAMES):
            yield Path(path)


def of_user(home: Path, reader: Reader, family: str = "") -> Iterator[Document]:
    """Yield the user's own instructions, in `~/.agents`, `~/.openhands` and `~/.claude`."""
    for name in (".agents", ".openhands", ".claude"):
        for document in _in(home / name, home, reader, family):
            yield msgspec.structs.replace(document, name=f"~/{document.name}", origin="user")


def _in(directory: Path, workspace: Path, reader: Reader, family: str) -> Iterator[Document]:
    """Yield the instructions in one directory. Case is ignored in names, and a file with several names is read once."""
    found = reader.listing(directory).names
    names = [name for name in NAMES if name in found]
    general = any(name not in VENDORS for name in names)
    for name in names:
        if general and family and VENDORS.get(name, family) != family:
            continue
        path = directory / found[name]
        text = reader.read(path)
        if text is not None and text.strip():
            yield document_of(text, path, _shown(path, workspace), reader, LONGEST)
            if name in IMPORTING:
                for target, more in imported(text, path, reader):
                    yield document_of(more, target, _shown(target, workspace), reader, LONGEST)


def imported(text: str, path: Path, reader: Reader, depth: int = DEEPEST) -> Iterator[tuple[Path, str]]:
    """Yield the files that a text imports, and those that these import, each with its text. A relative path begins at
    the directory of the file. Paths in code are no imports. The reader refuses files outside of its directory.

    Source: https://code.claude.com/docs/en/memory#import-additional-files.
    """
    if "@" not in text or not depth:
        return
    for found in dict.fromkeys(match[1].rstrip(".") for match in _IMPORT.finditer(prose(text))):
        target = Path(os.path.normpath(path.parent / os.path.expanduser(found)))
        if not target.is_file() or (said := reader.read(target)) is None:
            continue
        yield target, said
        yield from imported(said, target, reader, depth - 1)


def document_of(text: str, path: Path, name: str, reader: Reader, longest: int) -> Document:
    """Return a document of at most `longest` characters. A cut is noted as a problem, and for the model."""
    if len(text) > longest:
        reader.tell(path, f"was cut at {longest} of {len(text)} characters")
        text = f"{text[:longest]}\n[The file is longer: {len(text) - longest} characters more are in {path}.]"
    return Document(name=name, text=text.strip(), path=str(path), digest=reader.digests[str(path)])


def _skill(document: Document, directory: Path, workspace: Path) -> Skill:
    below = directory.relative_to(workspace).as_posix()
    return Skill(
        name=document.name,
        description=f"Instructions for {below}/",
        body=document.text,
        path=document.path,
        digest=document.digest,
        paths=(f"/{_literal(below)}/**",),
        model_may_invoke=False,
        origin="project",
    )


def _literal(path: str) -> str:
    """Return a path as a pattern; a `*` in it matches any one character."""
    return path.replace("*", "?")


def _shown(path: Path, workspace: Path) -> str:
    """Return a path as the model sees it: relative if it is below the workspace."""
    return path.relative_to(workspace).as_posix() if workspace in path.parents else str(path)
