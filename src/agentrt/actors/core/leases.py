"""`Leases`: what several share, such as a browser: opened by the first who asks, closed by the last who gives it back.

What is shared is entered and left in a task of its own, since it may be bound to that (anyio's cancel scopes are).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

T = TypeVar("T")

MOST_ABOVE = 10_000
"""Conversations below another that are known."""

Opened = Callable[[], AbstractAsyncContextManager[T]]
"""Opens what is shared."""


class Lease(Generic[T]):
    """A share of something, until it is given back."""

    def __init__(self, held: _Held) -> None:
        self._held: _Held | None = held

    @property
    def value(self) -> T:
        """What is shared. Raises `RuntimeError` once it was given back."""
        if self._held is None:
            raise RuntimeError("the lease was given back")
        value: T = self._held.value
        return value

    @property
    def ended(self) -> bool:
        """Whether it is closed, or about to be: another lease opens it anew."""
        return self._held is None or self._held.ended

    def end(self) -> None:
        """Have it closed for all who share it: it does not work any more."""
        if self._held is not None:
            self._held.end()

    def release(self) -> None:
        """Give it back; the second time nothing."""
        held, self._held = self._held, None
        if held is not None:
            held.users -= 1
            if not held.users:
                held.end()


class Leases:
    """An async context manager; what is still shared when it ends is closed."""

    def __init__(self) -> None:
        self._open: dict[str, _Held] = {}
        self._above: dict[str, str] = {}
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Leases:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None
        tasks.cancel_scope.cancel()
        await tasks.__aexit__(None, None, None)

    def root(self, name: str, above: str | None) -> str:
        """The one at the top of a tree, as far as it is known: `name` is below `above`."""
        if above is not None:
            self._above[name] = above
            while len(self._above) > MOST_ABOVE:
                del self._above[next(iter(self._above))]
        seen = {name}
        while (above := self._above.get(name)) is not None and above not in seen:
            seen.add(name := above)
        return name

    async def lease(self, key: str, opened: Opened[T]) -> Lease[T]:
        """A share of what is open under a key, which is opened where nothing is. Raises what opening it does."""
        if self._tasks is None:
            raise RuntimeError("it has ended")
        held = self._open.get(key)
        if held is None:
            held = self._open[key] = _Held(opened, lambda: self._open.pop(key, None))
            self._tasks.start_soon(held.run)
        held.users += 1
        lease: Lease[T] = Lease(held)
        try:
            await held.ready.wait()
            if held.error is not None:
                raise held.error
        except BaseException:
            lease.release()
            raise
        return lease


class _Held:
    """Something that is shared, and how many share it."""

    def __init__(self, opened: Opened[Any], left: Callable[[], object]) -> None:
        self._opened, self._left = opened, left
        self._unused, self._scope = anyio.Event(), anyio.CancelScope()
        self.ready = anyio.Event()
        self.users, self.ended = 0, False
        self.value: Any = None
        self.error: Exception | None = None

    async def run(self) -> None:
        """Hold it until nobody does, or it is ended."""
        try:
            with self._scope:
                async with self._opened() as self.value:
                    self.ready.set()
                    await self._unused.wait()
        except Exception as error:  # whoever waits for it is told
            self.error = error
        finally:
            if not self.ready.is_set() and self.error is None:
                self.error = RuntimeError("it was closed while it was opened")
            self.end()
            self.ready.set()

    def end(self) -> None:
        """Close it, also when it is only being opened."""
        if not self.ended:
            self.ended = True
            self._left()
        self._unused.set()
        if not self.ready.is_set():
            self._scope.cancel()
