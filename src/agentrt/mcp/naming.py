"""Names of servers' tools: legal for every provider, unique, and as the server has them where they can be. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256

LONGEST = 64
"""Characters that the strictest provider allows."""

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def legal(name: str) -> str:
    """A name as every provider takes it: letters, digits, "_" and "-", a letter or "_" first, 64 at most."""
    made = _ILLEGAL.sub("_", name) or "tool"
    if not (made[0].isalpha() or made[0] == "_"):
        made = f"_{made}"
    if len(made) > LONGEST:
        made = f"{made[: LONGEST - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
    return made


def named(server: str, tools: Iterable[str], taken: Collection[str], kept: Mapping[str, str] = {}) -> dict[str, str]:
    """The names under which a server's tools are offered, by the server's own names.

    A tool has the name that was `kept` for it. Else it keeps its own; where that is taken it is `server_tool`, and
    where that is taken too it has a number.
    """
    used, found = {name.lower() for name in (*taken, *kept.values())}, dict[str, str]()
    for tool in tools:
        if tool in found:
            continue
        if tool in kept:
            found[tool] = kept[tool]
            continue
        choices = [legal(tool), legal(f"{server}_{tool}")]
        name = next((choice for choice in choices if choice.lower() not in used), "")
        number = 2
        while not name:
            choice = legal(f"{server}_{tool}_{number}")
            name = choice if choice.lower() not in used else ""
            number += 1
        used.add(name.lower())
        found[tool] = name
    return found


def offered(name: str, include: Collection[str], exclude: Collection[str], pattern: str | None = None) -> bool:
    """Whether a tool of that name is offered; `pattern` is a regular expression that it must match from its start."""
    if include and not any(fnmatchcase(name, one) for one in include):
        return False
    if any(fnmatchcase(name, one) for one in exclude):
        return False
    return pattern is None or re.match(pattern, name) is not None
