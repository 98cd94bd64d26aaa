"""What a cell does, as far as IPython's own syntax says: shell commands behind `!`, and in magics. Pure."""

from __future__ import annotations

import re

from ...specs.effects import Effects, Source

_SHELL = re.compile(r"^\s*(?:[\w.,\s]+=\s*)?!!?(.+)$")
_PIP = re.compile(r"^\s*%(pip|conda|uv|cd|ls|mkdir|rm|mv|cp|cat)\b(.*)$")
_CELL = re.compile(r"\s*%%(?:bash|sh|script\s+(?:ba)?sh)\b[^\n]*\n(.*)", re.DOTALL)


def effects_of(code: str) -> Effects:
    """What a cell runs: Python, and shell commands behind `!` and in magics (IPython's syntax)."""
    if (shell := _CELL.match(code)) is not None:
        return Effects(runs=(Source(shell[1]),))
    commands, rest = [], []
    for line in code.splitlines():
        found = _SHELL.match(line) or _PIP.match(line)
        if found is None:
            rest.append(line)
            continue
        commands.append(Source("".join(found.groups()).strip()))
        rest.append(f"{line[: len(line) - len(line.lstrip())]}pass")
    return Effects(runs=(Source("\n".join(rest), "python"), *commands))
