"""Guards code that others wrote: a stray cancellation or `sys.exit()` in it becomes an error like any other."""

from __future__ import annotations

import asyncio
from types import TracebackType


class StrayCancellation(Exception):
    """What was called said that it was cancelled; it failed, as with any other error."""

    def __init__(self) -> None:
        super().__init__("it was cancelled, and nobody had asked for that")


class Broken(Exception):
    """What was called raised what no caller is to catch; it failed, as with any other error."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(f"{type(raised).__name__}: {raised}")


class Exited(Exception):
    """What was called wanted to end the process, as `sys.exit()` does: that ends the call and nothing else."""

    def __init__(self, code: object) -> None:
        self.code = code
        super().__init__(f"it called sys.exit({'' if code is None else repr(code)}), which ended this call only")


_PASSING = (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
"""What is not of the code that is called."""


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
"""A context in which a `SystemExit` is raised as `Exited`, a `CancelledError` as `StrayCancellation` unless this task
is being cancelled, and what else is no `Exception` as `Broken`."""
