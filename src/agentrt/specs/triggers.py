"""Finds the skills that a message, or a touched file, activates. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import translate
from functools import lru_cache

from .skill import Skill

MOST = 300
"""The most characters of a pattern; a longer one matches nothing."""
LONGEST = 20_000
"""The number of characters of a message that are searched."""


def activated(skills: Iterable[Skill], text: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of the skills that a message activates: tasks that it names, each time, and skills with a
    trigger word in it, unless they are `known`.
    """
    text = text[:LONGEST]
    wanted = [skill for skill in skills if skill.triggers or skill.is_package]
    names = {skill.name for skill in asked(wanted, text)} if wanted else set[str]()
    names |= {skill.name for skill in said(wanted, text) if skill.name not in known}
    return tuple(skill.name for skill in wanted if skill.name in names)


def said(skills: Iterable[Skill], text: str) -> Iterator[Skill]:
    """Yield the skills with a trigger word in a message: a whole word, ignoring case."""
    folded = text.casefold()
    for skill in skills:
        words = (trigger for trigger in skill.triggers if not trigger.startswith("/"))
        if any(word.casefold() in folded and _word(word).search(text) for word in words):
            yield skill


def asked(skills: Iterable[Skill], text: str) -> Iterator[Skill]:
    """Yield the tasks that a message names, as "/name" at its start or after a blank; packages only at its start."""
    if "/" not in text:
        return
    first = text.split(maxsplit=1)[0].lower()
    for skill in skills:
        named = skill.is_package and first == f"/{skill.name}"
        if named or any(_task(trigger).search(text) for trigger in skill.triggers if trigger.startswith("/")):
            yield skill


def missing_inputs(skill: Skill, text: str) -> tuple[str, ...]:
    """Return the inputs of a task for which a message has no value, as "name=value" or "name: value"."""
    given = inputs(skill, text)
    return tuple(name for name in skill.inputs if name not in given)


def inputs(skill: Skill, text: str) -> dict[str, str]:
    """Return the values in a message for the inputs of a task, each a word or a quoted text; a single input may be
    given without its name.
    """
    found = ((name, _value(name).search(text)) for name in skill.inputs)
    given = {name: value[1] if value[1] is not None else value[2] for name, value in found if value is not None}
    if not given and len(skill.inputs) == 1 and (only := arguments(text)):
        return {skill.inputs[0]: only}
    return given


def arguments(text: str) -> str:
    """Return the text after the name of a task in a message."""
    found = _NAMED.search(text)
    return (found[1] or "").strip() if found is not None else ""


def touched(skills: Iterable[Skill], path: str) -> Iterator[Skill]:
    """Yield the skills with a pattern that matches a relative path. `**` is any directories, `*` any name."""
    names = path.split("/")
    for skill in skills:
        if any(_fits(_parts(pattern), names) for pattern in skill.paths):
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
def _parts(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """Return the parts of a pattern, None for `**`; a pattern without "/" matches at any depth, as in .gitignore."""
    if len(pattern) > MOST:
        return (_NEVER,)
    pattern = pattern.removeprefix("./")
    pattern = f"{pattern}**" if pattern.endswith("/") else pattern
    deep = pattern if "/" in pattern else f"**/{pattern}"
    return tuple(None if part == "**" else re.compile(translate(part)) for part in deep.strip("/").split("/"))


def _fits(parts: tuple[re.Pattern[str] | None, ...], names: list[str]) -> bool:
    """Return whether a path matches a pattern; each position is checked once per part."""
    reached = {0}
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part is None:
            least = min(reached, default=len(names) + 1)
            reached = set(range(least + last, len(names) + 1))  # at the end, at least one name must follow
        else:
            reached = {at + 1 for at in reached if at < len(names) and part.match(names[at])}
    return len(names) in reached


_NEVER = re.compile("(?!)")
_NAMED = re.compile(r"(?<!\S)/[\w:-]+(?:\s+(.*))?\Z", re.DOTALL)
