"""A tool call for people, as the tool declares: its headline, and the change that it would make. Pure.

A template has the names of arguments in braces: "{command} {path}". The first template applies whose arguments are all
given and not empty. A template with "{command:empty}" is for a call whose `command` is an empty string, and one with
"{is_input:true}" for a call where that is true; both stand for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .tool import Edits

_NAMED = re.compile(r"\{(\w+)(:empty|:true)?\}")


def headline_of(templates: Iterable[str], arguments: Mapping[str, object]) -> str | None:
    """Return the headline for these arguments; None if no template fits them."""
    for template in templates:
        if all(_fits(arguments.get(name), mark) for name, mark in _NAMED.findall(template)):
            return _NAMED.sub(lambda name: "" if name[2] else _word(arguments.get(name[1])), template)
    return None


def change_of(edits: Edits, arguments: Mapping[str, object]) -> list[str]:
    """Return the change that a call would make: the lines that it takes out after a "-", those that it puts in after a
    "+".
    """
    return [
        sign + line
        for sign, names in (("-", edits.removes), ("+", edits.adds))
        for name in names
        if isinstance(text := arguments.get(name), str)
        for line in text.splitlines()
    ]


def _fits(value: object, mark: str) -> bool:
    if mark == ":true":
        return value not in (None, False, "", "0") and str(value).lower() != "false"
    return value == "" if mark else bool(_word(value))


def _word(value: object) -> str:
    """Return the text of an argument; "" if it is missing, false, or neither text nor number."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
