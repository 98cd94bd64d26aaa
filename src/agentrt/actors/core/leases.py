"""`Leases`: shared resources, such as a browser. The first user opens a resource and the last one closes it.

A resource is entered and left in a task of its own, because it may be bound to that task (anyio's cancel scopes are).
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
"""Maximum number of conversations whose parent is remembered."""

Opened = Callable[[], AbstractAsyncContextManager[T]]
"""Opens the resource."""


class Lease(Generic[T]):
    """A share of a resource, until it is given back."""

    def __init__(self, held: _Held) -> None:
        self._held: _Held | None = held

    @property
    def value(self) -> T:
        """The resource. Raises `RuntimeError` once the lease was given back."""
        if self._held is None:
            raise RuntimeError("the lease was given back")
        value: T = self._held.value
        return value

    @property
    def ended(self) -> bool:
        """Whether the resource is closed or about to be. Then another lease opens it anew."""
        return self._held is None or self._held.ended

    def end(self) -> None:
        """Close the resource for all who share it, because it no longer works."""
        if self._held is not None:
            self._held.end()

    def release(self) -> None:
        """Give the lease back. The second call does nothing."""
        held, self._held = self._held, None
        if held is not None:
            held.users -= 1
            if not held.users:
                held.end()


class Leases:
    """Shared resources by key. An async context manager, which closes the resources that are still open."""

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
        """Return the conversation at the top of the tree of `name`, as far as it is known. `above` is its parent."""
        if above is not None:
            self._above[name] = above
            while len(self._above) > MOST_ABOVE:
                del self._above[next(iter(self._above))]
        seen = {name}
        while (above := self._above.get(name)) is not None and above not in seen:
            seen.add(name := above)
        return name

    async def lease(self, key: str, opened: Opened[T]) -> Lease[T]:
        """Return a share of the resource under a key; open it if it is not open. Raise what opening it raises."""
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
    """A shared resource, and the number of its users."""

    def __init__(self, opened: Opened[Any], left: Callable[[], object]) -> None:
        self._opened, self._left = opened, left
        self._unused, self._scope = anyio.Event(), anyio.CancelScope()
        self.ready = anyio.Event()
        self.users, self.ended = 0, False
        self.value: Any = None
        self.error: Exception | None = None

    async def run(self) -> None:
        """Keep the resource open until nobody uses it or it is ended."""
        try:
            with self._scope:
                async with self._opened() as self.value:
                    self.ready.set()
                    await self._unused.wait()
        except Exception as error:  # `lease` raises it
            self.error = error
        finally:
            if not self.ready.is_set() and self.error is None:
                self.error = RuntimeError("it was closed while it was opened")
            self.end()
            self.ready.set()

    def end(self) -> None:
        """Close the resource, even while it is being opened."""
        if not self.ended:
            self.ended = True
            self._left()
        self._unused.set()
        if not self.ready.is_set():
            self._scope.cancel()
