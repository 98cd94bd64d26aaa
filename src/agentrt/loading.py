"""`load`: a heavy library, imported in a thread when something needs it."""

from __future__ import annotations

import threading
from importlib import import_module
from types import ModuleType

import anyio.to_thread

_one = threading.Lock()
"""Held while a library is imported: two threads that import the same packages see half of them (`ImportError`)."""


async def load(name: str) -> ModuleType:
    """The module of that name. Raises what its import does."""
    return await anyio.to_thread.run_sync(load_now, name)


def load_now(name: str) -> ModuleType:
    """The same, for a thread."""
    with _one:
        return import_module(name)
