"""Finds rules for parts of a repository, in the formats of Claude Code, Cursor and GitHub Copilot; for a thread."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import relpath
from typing import Any

import msgspec

from ..errors import ConfigurationError
from ..specs.context import Document
from ..specs.skill import Skill
from .front_matter import read, split
from .instructions import LONGEST, document_of
from .skill_files import Words, words
from .text import Reader

DIRECTORIES = (
    (".agents", "rules", ".md"),
    (".claude", "rules", ".md"),
    (".cursor", "rules", ".mdc"),
    (".github", "instructions", ".instructions.md"),
)
"""Where files of rules are, below the root of a repository: a directory, one below it, and the end of their names."""

ALWAYS = (".github", "copilot-instructions.md")

DEPTH = 4
"""Maximum depth of directories below one of these that are searched."""

_EVERYWHERE = frozenset({"**", "**/*", "*"})


class _Header(msgspec.Struct):
    description: str = ""
    globs: Words = None
    paths: Words = None
    apply_to: Words = msgspec.field(name="applyTo", default=None)
    always: Any = msgspec.field(name="alwaysApply", default=None)


def find_rules(root: Path, workspace: Path, reader: Reader) -> tuple[tuple[Document, ...], tuple[Skill, ...]]:
    """Return the rules for a whole repository, and those for some of its files, as skills that are activated by paths,
    from a list, or by a person. Raises nothing: problems are noted by the reader.
    """
    documents: list[Document] = []
    skills: list[Skill] = []
    there = reader.listing(root).names
    for path in _files(root, there, reader):
        if (text := reader.read(path)) is None or not text.strip():
            continue
        try:
            found = _rule(text, path, root, workspace, reader)
        except ConfigurationError as error:
            reader.tell(path, str(error))
            continue
        if isinstance(found, Document):
            documents.append(found)
        else:
            skills.append(found)
    return tuple(documents), tuple(skills)


def _files(root: Path, there: dict[str, str], reader: Reader) -> Iterator[Path]:
    if ALWAYS[0] in there:
        yield root.joinpath(*ALWAYS)
    for above, below, end in DIRECTORIES:
        if above in there:
            yield from _below(root / above / below, end, reader, DEPTH)


def _below(directory: Path, end: str, reader: Reader, depth: int) -> Iterator[Path]:
    for entry in reader.entries(directory):
        path = directory / entry.name
        if entry.leads_to_directory():
            if depth:
                yield from _below(path, end, reader, depth - 1)
        elif entry.name.lower().endswith(end):
            yield path


def _rule(text: str, path: Path, root: Path, workspace: Path, reader: Reader) -> Document | Skill:
    header, body, _ = read(_quoted(text), _Header)
    document = document_of(body, path, path.relative_to(root).as_posix(), reader, LONGEST)
    given = [*_patterns(header.globs), *_patterns(header.paths), *_patterns(header.apply_to)]
    # a rule of Cursor says what it is for: always, for some files, for the model to choose, or for a person to name
    if path.suffix == ".mdc":
        everywhere = str(header.always).lower() == "true"
    else:
        everywhere = not given or not _EVERYWHERE.isdisjoint(given)
    if everywhere or path.name == ALWAYS[1]:
        return document
    patterns = tuple(_from_workspace(one, root, workspace) for one in given)
    return Skill(
        name=document.name,
        description=" ".join(header.description.split()),
        body=document.text,
        path=document.path,
        digest=document.digest,
        paths=patterns,
        triggers=() if patterns or header.description else (f"/{path.stem}",),
        is_package=not patterns,
        model_may_invoke=not patterns and bool(header.description),
        origin="project",
    )


def _quoted(text: str) -> str:
    """Return a text with the patterns in its front matter quoted: `globs: *.ts` is no YAML."""
    header, body = split(text)
    if not header:
        return text
    lines = []
    for line in header.splitlines():
        name, colon, value = line.partition(":")
        bare = name in ("globs", "applyTo", "paths") and value.strip() and value.strip()[0] not in "\"'["
        lines.append(f"{name}{colon} {msgspec.json.encode(value.strip()).decode()}" if bare else line)
    return "\n".join(("---", *lines, "---", body))


def _patterns(given: Any) -> tuple[str, ...]:
    """Return several patterns; a comma within braces separates none, and braces are written out."""
    return tuple(one for word in words(given, between=r",(?![^{]*\})") for one in _unbraced(word))


def _unbraced(pattern: str, most: int = 64) -> list[str]:
    """Return the patterns that a pattern with braces stands for: `*.{ts,tsx}` is two."""
    done, waiting = list[str](), [pattern]
    while waiting and len(done) + len(waiting) <= most:
        one = waiting.pop()
        found = re.search(r"\{([^{}]*)\}", one)
        if found is None:
            done.append(one)
        else:
            waiting += [one[: found.start()] + part + one[found.end() :] for part in reversed(found[1].split(","))]
    return done


def _from_workspace(pattern: str, root: Path, workspace: Path) -> str:
    """Return a pattern for paths below the root of a repository as one for paths that begin at the workspace."""
    pattern = pattern.strip().removeprefix("./")
    if root == workspace or "/" not in pattern.rstrip("/") or pattern.startswith("**/"):
        return pattern
    whole = f"{pattern.lstrip('/')}**" if pattern.endswith("/") else pattern.lstrip("/")
    found = relpath(whole, workspace.relative_to(root).as_posix())
    return found if found.startswith("../") else f"/{found}"
