"""`Lanes`: work that is done in order in each lane, and side by side across lanes."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

Work: TypeAlias = Callable[[], Awaitable[None]]


class Lanes:
    """Work that is done in order in each lane and side by side across lanes, in a task group; so much at once."""

    def __init__(self, tasks: TaskGroup, most: int) -> None:
        self._tasks, self._room = tasks, anyio.Semaphore(most)
        self._lanes: dict[str, deque[Work]] = {}

    async def put(self, lane: str, work: Work) -> None:
        """Have something done after all that was put into its lane before; returns once there is room for it."""
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
