"""`Lanes`: work that is done in order in each lane, and concurrently across lanes."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

Work: TypeAlias = Callable[[], Awaitable[None]]


class Lanes:
    """Work that is done in order in each lane, and concurrently across lanes, in a task group.

    `most` is the maximum number of items, waiting or running.
    """

    def __init__(self, tasks: TaskGroup, most: int) -> None:
        self._tasks, self._room = tasks, anyio.Semaphore(most)
        self._lanes: dict[str, deque[Work]] = {}

    async def put(self, lane: str, work: Work) -> None:
        """Add work to the end of its lane; return once there is room for it."""
        await self._room.acquire()
        if (waiting := self._lanes.get(lane)) is not None:
            waiting.append(work)
        else:
            self._lanes[lane] = deque([work])
            self._tasks.start_soon(self._work, lane)

    async def _work(self, lane: str) -> None:
        waiting = self._lanes[lane]
        try:
            while waiting:
                try:
                    await waiting.popleft()()
                finally:
                    self._room.release()
        finally:
            del self._lanes[lane]
