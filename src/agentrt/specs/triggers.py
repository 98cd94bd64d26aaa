"""Which skills a message, or a file that is touched, activates. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .skill import Skill


def activated(skills: Iterable[Skill], text: str) -> Iterator[Skill]:
    """The skills that a message activates: by one of their words, or as a task that it names."""
    wanted = [skill for skill in skills if skill.triggers or skill.is_package]
    if wanted:
        asks = set(map(id, asked(wanted, text)))
        says = set(map(id, said(wanted, text)))
        yield from (skill for skill in wanted if id(skill) in asks or id(skill) in says)


def said(skills: Iterable[Skill], text: str) -> Iterator[Skill]:
    """The skills of whose triggers a message has one: a whole word, in upper or lower case."""
    for skill in skills:
        if any(_word(trigger).search(text) for trigger in skill.triggers if not trigger.startswith("/")):
            yield skill


def asked(skills: Iterable[Skill], text: str) -> Iterator[Skill]:
    """The tasks that a message names, as "/name" at its start or after a blank; any package at its start alone."""
    if "/" not in text:
        return
    first = text.split(maxsplit=1)[0].lower()
    for skill in skills:
        named = skill.is_package and first == f"/{skill.name}"
        if named or any(_task(trigger).search(text) for trigger in skill.triggers if trigger.startswith("/")):
            yield skill


def missing_inputs(skill: Skill, text: str) -> tuple[str, ...]:
    """The inputs of a task that a message gives no value to, as "name=value" or "name: value"."""
    given = inputs(skill, text)
    return tuple(name for name in skill.inputs if name not in given)


def inputs(skill: Skill, text: str) -> dict[str, str]:
    """The values that a message gives to the inputs of a task, each a word or what is quoted; the only input of a task
    may be given without its name.
    """
    found = ((name, _value(name).search(text)) for name in skill.inputs)
    given = {name: value[1] if value[1] is not None else value[2] for name, value in found if value is not None}
    if not given and len(skill.inputs) == 1 and (only := arguments(text)):
        return {skill.inputs[0]: only}
    return given


def arguments(text: str) -> str:
    """What follows on the name of a task that a message begins with."""
    return text.strip().partition(" ")[2].strip() if text.lstrip().startswith("/") else ""


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
    return re.compile(rf"(?<!\S){re.escape(trigger)}(?![\w/:-])", re.IGNORECASE)


@lru_cache(4096)
def _value(name: str) -> re.Pattern[str]:
    return re.compile(rf'(?i)(?<!\w){re.escape(name)}[ \t]*[=:][ \t]*(?:"([^"\n]*)"|(\S+))')


@lru_cache(4096)
def _glob(pattern: str) -> re.Pattern[str]:
    """Also a pattern without "/" holds at any depth, as in .gitignore."""
    deep = pattern if "/" in pattern.rstrip("/") else f"**/{pattern}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", deep.lstrip("/"))
    signs = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part, re.escape(part)) for part in parts))
