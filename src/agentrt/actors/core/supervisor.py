"""Supervision: an actor that a bug ends is restarted, within limits."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Protocol

import anyio
import msgspec
from anyio.abc import TaskGroup

from ...errors import ActorCrashed
from .mailbox import Mailbox
from .ref import Ref

MAILBOX = 64
"""Maximum number of requests in a mailbox. After that, askers wait."""


class Actor(AbstractAsyncContextManager[Any], Protocol):
    """A handler of requests. Entering it acquires what it needs and leaving it releases that."""

    async def handle(self, message: Any) -> Any:
        """Return the reply to `message`. An `AgentrtError` goes to the asker; any other exception is a bug."""
        ...


class RestartPolicy(msgspec.Struct, frozen=True):
    """At most `restarts` in `window` seconds. The wait before each doubles, from `backoff` seconds."""

    restarts: int = 3
    window: float = 60.0
    backoff: float = 0.05


class RestartWindow:
    """Counts restarts against a policy, by the times that it is given."""

    def __init__(self, policy: RestartPolicy) -> None:
        self._policy = policy
        self._times: deque[float] = deque()

    def next(self, time: float) -> float | None:
        """Return the seconds to wait before a restart at `time`; None if there were too many restarts."""
        while self._times and time - self._times[0] >= self._policy.window:
            self._times.popleft()
        if len(self._times) >= self._policy.restarts:
            return None
        self._times.append(time)
        return self._policy.backoff * 2.0 ** (len(self._times) - 1)


class _Starts:
    """Starts tasks of task groups from callbacks of the loop. A task group starts a task only from another one, so each
    is started by a task that does only that.
    """

    def __init__(self) -> None:
        self._starting: set[asyncio.Task[None]] = set()

    def soon(self, start: Callable[[], None]) -> None:
        """Have a task call `start` in its first round."""
        task = asyncio.get_running_loop().create_task(self._started(start))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _started(self, start: Callable[[], None]) -> None:
        start()

    async def done(self) -> None:
        """Return when all were called."""
        while self._starting:
            await asyncio.wait(self._starting)


class Supervisor:
    """Runs actors in a task group; leaving it stops them all and fails every pending ask.

    If an actor crashes too often, `on_stopped` is called with its name and the last crash: this is the escalation.
    """

    def __init__(
        self,
        policy: RestartPolicy = RestartPolicy(),
        on_stopped: Callable[[str, ActorCrashed], None] | None = None,
        clock: Callable[[], float] = anyio.current_time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._policy, self._on_stopped, self._clock, self._sleep = policy, on_stopped, clock, sleep
        self._tasks: TaskGroup = anyio.create_task_group()
        self._starts = _Starts()
        self._ended = False

    async def __aenter__(self) -> Supervisor:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._tasks.cancel_scope.cancel()
        try:
            await self._tasks.__aexit__(None, None, None)
        finally:
            self._ended = True
            with anyio.CancelScope(shield=True):
                await self._starts.done()

    def spawn(
        self,
        name: str,
        factory: Callable[[], Actor],
        *,
        mailbox: int = MAILBOX,
        concurrency: int = 1,
    ) -> Ref:
        """Start an actor that handles up to `concurrency` requests side by side. Loop callbacks may call this, too."""
        box = Mailbox(name, max(mailbox, concurrency))
        self._starts.soon(partial(self._start, name, factory, box, concurrency))
        return Ref(box)

    def _start(self, name: str, factory: Callable[[], Actor], mailbox: Mailbox, concurrency: int) -> None:
        """Start the actor's task. Once the supervisor has ended, the actor is refused: who asks it is told that it has
        stopped.
        """
        if self._ended:
            mailbox.close()
            return
        self._tasks.start_soon(self._supervise, name, factory, mailbox, concurrency, name=name)

    async def _supervise(self, name: str, factory: Callable[[], Actor], mailbox: Mailbox, concurrency: int) -> None:
        window = RestartWindow(self._policy)
        try:
            while True:
                last = await _live(name, factory, mailbox, concurrency)
                wait = window.next(self._clock())
                if wait is None:
                    if self._on_stopped is not None:
                        self._on_stopped(name, last)
                    return
                await self._sleep(wait)
        finally:
            mailbox.close()


async def _live(name: str, factory: Callable[[], Actor], mailbox: Mailbox, concurrency: int) -> ActorCrashed:
    """Run an actor once, until it crashes, and return the crash."""
    try:
        async with factory() as actor:
            return await _serve(actor, mailbox, concurrency)
    except ActorCrashed as crash:
        return crash
    except Exception as bug:
        return ActorCrashed(name, bug)


async def _serve(actor: Actor, mailbox: Mailbox, concurrency: int) -> ActorCrashed:
    if concurrency == 1:
        while True:
            await _serve_uncancelled(actor, mailbox)
    return await _Handlers(actor, mailbox, concurrency).serve()


class _Handlers:
    """The tasks that handle the requests of one actor side by side. There is one at first, and another one when a
    request comes while all are busy: so requests that come one after the other cost no new tasks.

    The actor's own task handles none. So a handler that its request cancels, from within and against all rules, ends
    alone, and another one takes its place.
    """

    def __init__(self, actor: Actor, mailbox: Mailbox, most: int) -> None:
        self._actor, self._mailbox, self._most = actor, mailbox, most
        self._tasks = anyio.create_task_group()
        self._number = 0
        self._crashes: list[ActorCrashed] = []
        self._starts = _Starts()

    async def serve(self) -> ActorCrashed:
        """Handle requests until the actor crashes, and return the crash."""
        async with self._tasks:
            self._mailbox.on_waiting = self._one_more
            try:
                for _ in range(max(len(self._mailbox), 1)):  # some may be left by a life before this one
                    self._one_more()
                await anyio.sleep_forever()
            finally:
                self._mailbox.on_waiting = None
        return self._crashes[0]

    def _one_more(self) -> None:
        if self._number < self._most:
            self._number += 1
            self._starts.soon(self._start)

    def _start(self) -> None:
        if self._mailbox.on_waiting is not None:  # it has not ended
            self._tasks.start_soon(self._handle)

    async def _handle(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            while not task.cancelling():  # what is left of a cancellation would hit the next request
                with anyio.CancelScope() as scope:
                    while not (scope.cancel_called or task.cancelling()):
                        envelope = await self._mailbox.receive()
                        await envelope.run(self._actor.handle, scope)
        except ActorCrashed as crash:
            self._crashes.append(crash)
            self._tasks.cancel_scope.cancel()
        except asyncio.CancelledError:
            if anyio.current_effective_deadline() == -math.inf:  # from outside, and not by the request itself
                raise
        finally:
            self._number -= 1
            if self._mailbox.on_waiting is not None and len(self._mailbox) and not self._crashes:
                self._one_more()


async def _serve_uncancelled(actor: Actor, mailbox: Mailbox) -> None:
    """Handle requests in one scope until one is cancelled. A scope for each request costs a step 5 % of its CPU."""
    with anyio.CancelScope() as scope:
        while not scope.cancel_called:
            envelope = await mailbox.receive()
            await envelope.run(actor.handle, scope)
