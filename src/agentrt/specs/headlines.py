"""Headlines: a call of a tool in one line, by the templates that the tool declares. Pure.

A template has the names of arguments in braces: "{command} {path}". Of several, the first is taken whose arguments are
all given and not empty; one with "{command:empty}" is for a call whose `command` is given as an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NAMED = re.compile(r"\{(\w+)(:empty)?\}")


def headline_of(templates: Iterable[str], arguments: Mapping[str, object]) -> str | None:
    """The line for these arguments; None where no template fits them."""
    for template in templates:
        if all(_fits(arguments.get(name), empty) for name, empty in _NAMED.findall(template)):
            return _NAMED.sub(lambda name: _word(arguments.get(name[1])), template)
    return None


def _fits(value: object, empty: str) -> bool:
    return value == "" if empty else bool(_word(value))


def _word(value: object) -> str:
    """The text of an argument; "" for one that is missing, false, or no text and no number."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
