"""`--tools`: the user's own tools, from a module or from an installed package."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import click

from ..errors import ConfigurationError
from ..tools import ToolType, as_tool_types

GROUP = "agentrt.tools"
"""The entry point group in which an installed package offers tools."""

_FORM = re.compile(r"\w+(?:\.\w+)*:\w+(?:\.\w+)*")

tools_option = click.option(
    "--tools",
    "own",
    multiple=True,
    is_eager=True,  # rules name these tools
    metavar="MODULE:NAME",
    help="A tool of your own: a function, a tool, or a list of them, in a module of this directory or an installed one;"
    f" or the name of an entry point in the group {GROUP}. May be repeated.",
)


def own_tools(given: Iterable[str]) -> tuple[ToolType, ...]:
    """Return the tools that --tools names. Raises `ConfigurationError` for tools that cannot be loaded."""
    return tuple(kind for each in given for kind in _loaded(each))


def offered_tools() -> tuple[ToolType, ...]:
    """Return the tools that installed packages offer; agents may name them. Raises the same error as `own_tools`."""
    return tuple(kind for point in _points() for kind in _of(point.name, _imported(point)))


def _points() -> Iterable[EntryPoint]:
    return entry_points(group=GROUP)


def _loaded(given: str) -> tuple[ToolType, ...]:
    module, colon, name = given.partition(":")
    if not colon:
        points = {point.name: point for point in _points()}
        if module not in points:
            there = ", ".join(sorted(points)) or "none"
            raise ConfigurationError(
                f"--tools {given}: no package offers a tool of that name (known: {there}); write MODULE:NAME for"
                " one in a file, as 'tools:celsius' for celsius in tools.py"
            )
        return _of(given, _imported(points[module]))
    if not _FORM.fullmatch(given):
        raise ConfigurationError(f"--tools {given}: write MODULE:NAME, as 'tools:celsius' for celsius in tools.py")
    return _of(given, _imported(EntryPoint(name, f"{module}:{name}", GROUP), given))


def _imported(point: EntryPoint, given: str = "") -> Any:
    """Return the object that an entry point names, including, if it was `given`, one in a module of this directory.

    The directory may be a workspace. So it stays on the path of modules for the imports of this module's functions, but
    after all others: a file of the workspace is not imported in place of a library that is loaded later.
    """
    here, before = str(Path.cwd()), list(sys.path)
    try:
        if given and here not in sys.path:
            sys.path.insert(0, here)
            importlib.invalidate_caches()
        try:
            return point.load()
        finally:
            if here not in before and here in sys.path:
                sys.path.remove(here)
                sys.path.append(here)
    except (Exception, SystemExit) as error:  # of code of its own
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ConfigurationError(f"--tools {given or point.name}: cannot be loaded: {why}") from error


def _of(given: str, found: Any) -> tuple[ToolType, ...]:
    try:
        return as_tool_types(found if isinstance(found, list | tuple) else (found,))
    except ConfigurationError as error:
        raise ConfigurationError(f"--tools {given}: {error}") from error
