"""Which skills a message, or a file that is touched, activates. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ..specs.skill import Skill


def said(skills: Iterable[Skill], text: str) -> Iterator[Skill]:
    """The skills of whose triggers a message has one: a whole word, in upper or lower case."""
    for skill in skills:
        if any(_word(trigger).search(text) for trigger in skill.triggers if not trigger.startswith("/")):
            yield skill


def asked(skills: Iterable[Skill], text: str) -> Iterator[Skill]:
    """The tasks that a message names, as "/name" at its start or after a blank."""
    for skill in skills:
        if any(_task(trigger).search(text) for trigger in skill.triggers if trigger.startswith("/")):
            yield skill


def missing_inputs(skill: Skill, text: str) -> tuple[str, ...]:
    """The inputs of a task that a message gives no value to, as "name=value" or "name: value"."""
    return tuple(name for name in skill.inputs if not re.search(rf"(?i)\b{re.escape(name)}\s*[=:]\s*\S", text))


def touched(skills: Iterable[Skill], path: str) -> Iterator[Skill]:
    """The skills one of whose patterns fits a path relative to where they hold: `**` is any directories, `*` no "/"."""
    for skill in skills:
        if any(_glob(pattern).fullmatch(path) for pattern in skill.paths):
            yield skill


@lru_cache(4096)
def _word(trigger: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){re.escape(trigger)}(?![^\W_])", re.IGNORECASE)


@lru_cache(4096)
def _task(trigger: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(trigger)}(?![\w/-])", re.IGNORECASE)


@lru_cache(4096)
def _glob(pattern: str) -> re.Pattern[str]:
    """Also a pattern without "/" holds at any depth, as in .gitignore."""
    deep = pattern if "/" in pattern.rstrip("/") else f"**/{pattern}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", deep.lstrip("/"))
    signs = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part, re.escape(part)) for part in parts))
