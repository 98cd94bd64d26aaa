"""`load`: a heavy library, imported in a thread when something needs it; `load_extra`: one that an extra brings."""

from __future__ import annotations

import threading
from importlib import import_module
from types import ModuleType

import anyio.to_thread

from .errors import ToolError

_one = threading.Lock()
"""Held while a library is imported: two threads that import the same packages see half of them (`ImportError`)."""


async def load(name: str) -> ModuleType:
    """The module of that name. Raises what its import does."""
    return await anyio.to_thread.run_sync(load_now, name)


async def load_extra(name: str, extra: str) -> ModuleType:
    """The same for a tool, of a library that comes with an extra of this package.

    Raises `ToolError`, which names the extra, where it is not installed.
    """
    try:
        return await load(name)
    except ImportError as error:
        raise missing(name, extra, str(error)) from error


def missing(name: str, extra: str, reason: str) -> ToolError:
    """What a tool raises where a library is not installed that an extra brings."""
    return ToolError(
        f"this tool needs {name}, which is not installed here: have the user run pip install 'agentrt[{extra}]'"
        f" ({reason})"
    )


def load_now(name: str) -> ModuleType:
    """The same, for a thread."""
    with _one:
        return import_module(name)
