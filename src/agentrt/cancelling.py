"""Guards code that others wrote: a stray cancellation or `sys.exit()` in it becomes an error like any other."""

from __future__ import annotations

import asyncio
from types import TracebackType


class StrayCancellation(Exception):
    """The called code raised a `CancelledError` although nobody had cancelled it: it counts as failed."""

    def __init__(self) -> None:
        super().__init__("it was cancelled, and nobody had asked for that")


class Broken(Exception):
    """The called code raised an exception that no caller should catch: it counts as failed."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(f"{type(raised).__name__}: {raised}")


class Exited(Exception):
    """The called code wanted to end the process, as `sys.exit()` does: that ends the call and nothing else."""

    def __init__(self, code: object) -> None:
        self.code = code
        super().__init__(f"it called sys.exit({'' if code is None else repr(code)}), which ended this call only")


_PASSING = (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
"""Exceptions that pass, since they do not come from the called code."""


class _Guard:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(raised, SystemExit):
            raise Exited(raised.code) from raised
        if isinstance(raised, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is None or not task.cancelling():
                raise StrayCancellation from raised
        elif isinstance(raised, BaseExceptionGroup):
            if not raised.subgroup(_PASSING) and raised.subgroup(lambda one: not isinstance(one, Exception)):
                raise Broken(raised) from raised
        elif raised is not None and not isinstance(raised, (Exception, *_PASSING)):
            raise Broken(raised) from raised


guarded = _Guard()
"""A context manager that raises a `SystemExit` as `Exited`, a `CancelledError` as `StrayCancellation` unless this task
is being cancelled, and other exceptions that are no `Exception` as `Broken`, except for those in `_PASSING`.
"""
