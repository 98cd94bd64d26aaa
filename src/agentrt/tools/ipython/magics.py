"""Effects of a cell by IPython's own syntax: shell commands after `!`, and magics. Pure.

Source: IPython's reference, "Built-in magic commands". A magic that is not known here counts as a shell command, so
that it is rated like an unknown one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...specs.effects import Effects, FileText, Source

_TARGET = r"(?:[^\s=!%'\"#][^=!%'\"#]*+=\s*+)?"
"""The target of an assignment, which a line may begin with."""

_SHELL = re.compile(rf"\s*+{_TARGET}!!?(.+)$")
_MAGIC = re.compile(rf"\s*+{_TARGET}%(\w++)[ \t]*+(.*)$")
_CELL = re.compile(r"\s*%%(\S+)[ \t]*([^\n]*)\n?(.*)", re.DOTALL)
_THROUGH = re.compile(r"get_ipython\s*\(|run_line_magic|run_cell_magic|\bgetoutput\s*\(")
_OPTIONS = re.compile(r"(?:-\w+(?:\s+\d+)?\s+)*")

_MEASURED = ("time", "timeit", "prun", "capture", "memit", "mprun", "lprun")
"""Magics that run the Python after them on the line, or below it in the cell."""

_HARMLESS = frozenset(
    {"matplotlib", "pylab", "precision", "who", "whos", "who_ls", "history", "hist", "pwd", "pdoc", "pinfo", "psource",
     "lsmagic", "magic", "quickref", "config", "xmode", "autoreload", "load_ext", "automagic", "reset", "debug", "tb"}
)  # fmt: skip
_WRITES = re.compile(r"\b(?:create_file|open_file)\s*\(\s*(?:\w+\s*=\s*)?(['\"])(.+?)\1")
"""Calls of the AgentSkills functions that create a file, or open it to be edited."""


def effects_of(code: str) -> Effects:
    """Return what a cell runs and writes: Python, and shell commands after `!` and in magics."""
    if (cell := _CELL.match(code)) is not None:
        return _of_cell(*cell.groups())
    commands, rest = [], []
    for line in code.splitlines():
        command = _command(line)
        if command is None:
            rest.append(line)
            continue
        commands += [command] if command else []
        rest.append(f"{line[: len(line) - len(line.lstrip())]}pass")
    python = "\n".join(rest)
    if _THROUGH.search(python) or not _is_python(python):
        commands.append(python)
    return Effects(
        runs=(Source(python, "python"), *map(Source, commands)),
        writes=tuple(match[2] for match in _WRITES.finditer(python)),
    )


def _of_cell(name: str, line: str, body: str) -> Effects:
    """Return the effects of a cell magic: `%%name line`, and the rest of the cell."""
    if name in _MEASURED:
        return effects_of(f"{_measured(line)}\n{body}".strip("\n")) if body.strip() or line.strip() else Effects()
    if name == "writefile" or name == "file":
        path = line.split()[-1] if line.split() else ""
        return Effects(writes=(FileText(path, None if "-a" in line.split()[:-1] else body),))
    if name in ("python", "python3", "pypy"):
        return Effects(runs=(Source(body, "python"),))
    shells = (
        name in ("bash", "sh", "sx", "system", "!") or re.search(r"(?:^|[\s/])(?:ba|da|z|k)?sh\b", line) is not None
    )
    if shells or name == "script":
        given = line if name in ("sx", "system", "!") else ""
        return Effects(runs=(Source(f"{given}\n{body}".lstrip("\n")), *(() if shells else (Source(line),))))
    return Effects(runs=(Source(f"{name} {line}\n{body}"),))


def _command(line: str) -> str | None:
    """Return the shell command of a line, "" for a line without effects, or None for a line of Python."""
    if (shell := _SHELL.match(line)) is not None:
        return shell[1].strip()
    if (magic := _MAGIC.match(line)) is None or re.match(r"\s*[\w\])]+\s*%", line):
        return None
    name, rest = magic.groups()
    if name in _MEASURED:
        inner = _measured(rest)
        found = _command(inner)
        return (
            (inner if _THROUGH.search(inner) else f"python -c {inner!r}" if inner else "") if found is None else found
        )
    if name in ("sx", "sc", "system"):
        return str(rest)
    if name in ("env", "set_env"):
        return f"export {'='.join(rest.split(None, 1)) if '=' not in rest else rest}" if rest else ""
    if name in ("run", "loadpy", "load"):
        return f"python {rest}"
    return "" if name in _HARMLESS else f"{name} {rest}".strip()


def _measured(line: str) -> str:
    return _OPTIONS.sub("", line, count=1).strip()


def _is_python(code: str) -> bool:
    try:
        ast.parse("\n".join(_without_help(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_help(code: str) -> Iterator[str]:
    """Yield the lines of a cell, with `pass` for those that ask for help, which run nothing."""
    for line in code.splitlines():
        bare = line.strip()
        yield "pass" if re.fullmatch(r"\?{0,2}[\w.*]+\?{1,2}|\?{1,2}[\w.*]+", bare) else line
