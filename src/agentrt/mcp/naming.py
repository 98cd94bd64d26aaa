"""Names of servers' tools: legal for every provider, unique, and the server's own if possible. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256

LONGEST = 64
"""Maximum characters that the strictest provider allows."""

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def legal(name: str) -> str:
    """Return a name that every provider accepts: letters, digits, "_" and "-", a letter or "_" first, 64 at most."""
    made = _ILLEGAL.sub("_", name) or "tool"
    if not (made[0].isalpha() or made[0] == "_"):
        made = f"_{made}"
    if len(made) > LONGEST:
        made = f"{made[: LONGEST - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
    return made


def named(server: str, tools: Iterable[str], taken: Collection[str], kept: Mapping[str, str] = {}) -> dict[str, str]:
    """Return the names under which a server's tools are offered, by the server's own names.

    A tool has the name in `kept`, if there is one, else its own. If that is taken, it is `server_tool`, and if that is
    taken too, it has a number.
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
    """Return whether a tool is offered. Its name must match the regular expression `pattern` from the start."""
    if include and not any(fnmatchcase(name, one) for one in include):
        return False
    if any(fnmatchcase(name, one) for one in exclude):
        return False
    return pattern is None or re.match(pattern, name) is not None
