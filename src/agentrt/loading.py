"""`load`: imports a module in a thread when it is needed; `load_extra`: a library that an extra installs.

`libc`: the C library, for calls that Python does not have.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import anyio.to_thread

from .errors import ToolError

if TYPE_CHECKING:
    import ctypes

_one = threading.RLock()
"""Held during an import: two threads that import the same packages at once see half of them (`ImportError`)."""


def loaded(name: str) -> ModuleType | None:
    """Return the module of that name if it was imported whole."""
    module = sys.modules.get(name)
    return None if module is None or getattr(module.__spec__, "_initializing", False) else module


async def load(name: str) -> ModuleType:
    """Return the module of that name, imported in a thread if it was not yet. Raises what its import raises."""
    if (module := loaded(name)) is not None:
        return module
    return await anyio.to_thread.run_sync(load_now, name)


async def load_extra(name: str, extra: str) -> ModuleType:
    """Return a module for a tool, from a library that an extra of this package installs.

    Raises `ToolError`, which names the extra, if it is not installed.
    """
    try:
        return await load(name)
    except ImportError as error:
        raise missing(name, extra, str(error)) from error


def missing(name: str, extra: str, reason: str) -> ToolError:
    """Return the error of a tool if a library from an extra is not installed."""
    return ToolError(
        f"this tool needs {name}, which is not installed here: have the user run pip install 'agentrt[{extra}]'"
        f" ({reason})"
    )


def load_now(name: str) -> ModuleType:
    """Return the module of that name. For a thread."""
    with _one:
        return import_module(name)


@cache
def libc() -> ctypes.CDLL:
    """Return the C library. A call of it does not hold Python's lock."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> int:
    """Return the result of a call of the C library, if it is none of an error. Raises `OSError` by errno(3)."""
    import ctypes

    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
