"""Rules for programs that run what a project file says, such as `make`, `npm` and `pytest`. A known text is read.

Only HIGH ratings in them count, because such files are full of names that are not known before they run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ..specs import SecurityRisk
from .calls import Call, options
from .paths import within
from .shell_scope import Scope
from .verdicts import high

if TYPE_CHECKING:
    from .shell_walk import Walk

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_REFERENCE = re.compile(r"\$[({]\w+[)}]")
_SHELL = re.compile(r"\$\(shell (?:(.*)\)|.*)")
_LIFECYCLE = ("pre", "", "post")
_SHORT = {"t": "test", "tst": "test"}
_ALONE = frozenset({"test", "start", "stop", "restart"})
"""Scripts that npm runs without `run`."""


class _Package(msgspec.Struct):
    scripts: dict[str, str] = {}
    tasks: object = None
    """Those of `deno task`, in a `deno.json`; other programs may mean something else by the name."""


def made(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate the recipes of the file that `make` runs; a directory that the command itself cloned is HIGH."""
    for directory in options(call.words, "fCjlIoW", ("file", "makefile", "directory")).all("C", "directory") or (".",):
        if any(within(call.place(directory).path, fetched) for fetched in scope.fetched):
            walk.add(high("runs what it fetches", ("network",), ("web",)))
    _keep_high(walk, _recipes(call, scope), scope)


def run_script(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate the script that `npm` or a similar program runs, with its `pre` and `post` scripts."""
    _keep_high(walk, _scripts(call, scope), scope)


def tested(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate the test files that `pytest` is given, and its `conftest.py`."""
    from .python_code import rate_python

    for path in dict.fromkeys(word.partition("::")[0] for word in ("conftest.py", "tests/conftest.py", *call.words)):
        text = scope.text_of(call.place(path).path) if path.endswith(".py") else None
        if text is not None:
            keep(walk, (SecurityRisk.HIGH,), partial(rate_python, walk, text, scope.copy()))


def _keep_high(walk: Walk, lines: Iterable[str], scope: Scope) -> None:
    for line in lines:
        keep(walk, (SecurityRisk.HIGH,), partial(walk.code, line, scope.copy()))


def keep(walk: Walk, risks: Collection[SecurityRisk], look: Callable[[], object]) -> None:
    """Call `look`, and keep only those of its ratings that have one of `risks`."""
    before = len(walk.ratings)
    look()
    found = walk.ratings[before:]
    del walk.ratings[before:]
    walk.add(*(rating for rating in found if rating.risk in risks))


def _recipes(call: Call, scope: Scope) -> Iterator[str]:
    read = options(call.words, "fCjlIoW", ("file", "makefile", "directory"))
    directory = (*read.all("C", "directory"), ".")[0]
    for name in dict.fromkeys(read.all("f", "file", "makefile") or _MAKEFILES):
        given = name in ("-", "/dev/stdin")
        text = call.stdin if given else scope.text_of(call.place(f"{directory}/{name}").path)
        for line in (text or "").replace("\\\n", " ").split("\n"):
            recipe = line if line.startswith("\t") else line.partition(";")[2]
            for code in (recipe, *_SHELL.findall(line)):
                if plain := _REFERENCE.sub("x", code.lstrip("\t @+-")).replace("$$", "$"):
                    yield plain


def _scripts(call: Call, scope: Scope) -> Iterator[str]:
    operands = [word for word in call.words if not word.startswith("-")]
    command = _SHORT.get(operands[0], operands[0]) if operands else ""
    if command in ("run", "run-script") or (command == "task" and call.name == "deno"):
        name = operands[1] if len(operands) > 1 else ""
    else:
        name = command if command in _ALONE or call.name not in ("npm", "deno") else ""
    for file in ("package.json", *(("deno.json",) if call.name == "deno" else ())):
        text = scope.text_of(call.place(file).path) if name else None
        try:
            package = msgspec.json.decode(text or "{}", type=_Package)
        except (msgspec.DecodeError, UnicodeError):
            continue
        yield from (package.scripts[part + name] for part in _LIFECYCLE if part + name in package.scripts)
        match package.tasks.get(name) if isinstance(package.tasks, dict) else None:
            case str(line) | {"command": str(line)}:
                yield line
