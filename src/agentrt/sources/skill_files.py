"""Reads a skill from a file: a `SKILL.md` in a directory of its own, or one of OpenHands' single files. Pure."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from ..errors import ConfigurationError
from ..specs.skill import Origin, Skill
from .front_matter import read, split
from .servers import brought_in, servers_in

PACKAGE = "SKILL.md"
"""The file that makes its directory a skill."""

LONGEST = 100_000
"""Maximum number of characters of a body; the rest is cut."""

LONGEST_DESCRIPTION = 1024

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
Words: TypeAlias = Annotated[
    str | list[str] | None, Meta(description="Several, or one text with blanks or commas between them.")
]


class _Header(msgspec.Struct, rename="kebab"):
    name: str = ""
    description: str = ""
    license: str = ""
    compatibility: str = ""
    version: str | float = ""
    metadata: dict[str, Any] | None = None
    allowed_tools: Words = None
    disallowed_tools: Words = None
    triggers: Words = None
    inputs: list[Any] | None = None
    paths: Words = None
    disable_model_invocation: bool = False
    mcp_tools: Any = msgspec.field(name="mcp_tools", default=None)
    type: str = ""


def skill_of(
    text: str, path: PurePath, name: str, origin: Origin = "project", digest: str = ""
) -> tuple[Skill, tuple[str, ...]]:
    """Return the skill in a file's text, and notes on what was cut, left out or looks wrong.

    `name` is used if the file gives none: the path below the directory of skills, without its suffix. Raises
    `ConfigurationError` for front matter that cannot be used.
    """
    header, body, misspelt = read(text, _Header)
    is_package = path.name == PACKAGE
    told: list[str] = list(misspelt)
    if is_package and not split(text)[0].strip():
        raise ConfigurationError(
            "its front matter is missing or not closed: begin with a line of ---, name: and"
            " description:, and another line of ---"
        )
    if not body.strip():
        told.append("it has no text below its front matter")
    name = header.name.strip() or name
    if is_package and not _NAME.fullmatch(name):
        raise ConfigurationError(f"the name {name!r} of a skill has lower-case letters, digits and single '-' only")
    if is_package and name != path.parent.name:
        told.append(f"its name is {name!r}, and that of its directory {path.parent.name!r}")
    description = " ".join(header.description.split())
    if is_package and not description:
        raise ConfigurationError("a skill needs a description: by that a model knows when to use it")
    if len(description) > LONGEST_DESCRIPTION:
        told.append(f"its description was cut at {LONGEST_DESCRIPTION} of {len(description)} characters")
    if len(body) > LONGEST:
        told.append(f"its text was cut at {LONGEST} of {len(body)} characters")
    skill = Skill(
        name=name,
        description=description[:LONGEST_DESCRIPTION],
        body=body[:LONGEST].strip(),
        path=str(path),
        digest=digest,
        license=header.license,
        compatibility=header.compatibility,
        version=str(header.version),
        metadata=header.metadata or {},
        allowed_tools=words(header.allowed_tools),
        disallowed_tools=words(header.disallowed_tools),
        triggers=words(header.triggers, between=","),
        inputs=tuple(_input(given) for given in header.inputs or ()),
        paths=words(header.paths, between=","),
        is_package=is_package,
        model_may_invoke=not header.disable_model_invocation,
        origin=origin,
        servers=servers_in(header.mcp_tools),
        brought=brought_in(header.mcp_tools, path.name),
    )
    return skill, tuple(told)


def command_of(skill: Skill, name: str, plugin: str) -> Skill:
    """Return the slash command in a file of `commands`: a task named after the file, "/fix" and, of a plugin,
    "/plugin:fix".
    """
    word = name.replace("/", ":")
    triggers = (f"/{word}", f"/{plugin}:{word}") if plugin else (f"/{word}",)
    return msgspec.structs.replace(skill, name=name, triggers=triggers, model_may_invoke=False)


def words(given: str | list[str] | None, between: str = r"\s+(?![^(]*\))|,") -> tuple[str, ...]:
    """Return several texts. A single text is split, by default not within parentheses: "Bash(git add *) Read"."""
    found = re.split(between, given) if isinstance(given, str) else given or []
    return tuple(word.strip() for word in found if word.strip())


def _input(given: object) -> str:
    """Return the name of an input, which is a text, or a mapping that describes it."""
    return str(given.get("name", "")) if isinstance(given, dict) else str(given)
