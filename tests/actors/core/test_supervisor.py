"""The laws of actors: one way in, bounded mailboxes, cancellation, crashes, restarts, escalation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import assert_never

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from agentrt.actors.core import Ref, Request, RestartPolicy, RestartWindow, Supervisor
from agentrt.errors import ActorCrashed, ActorStopped, ToolError

pytestmark = pytest.mark.simulated


class Double(Request[int], frozen=True):
    """Twice a number."""

    number: int


class Block(Request[None], frozen=True):
    """Wait for ever."""


class Fail(Request[None], frozen=True):
    """Fail as expected."""


class Break(Request[None], frozen=True):
    """Fail by a bug."""


class Stray(Request[None], frozen=True):
    """Raise a cancellation that nobody asked for."""


class CancelOwnTask(Request[int], frozen=True):
    """Cancel the task that handles it, from within; `caught`: and go on."""

    caught: bool = False


class Echo(AbstractAsyncContextManager["Echo"]):
    """A real actor whose life the tests can follow."""

    def __init__(self, lives: list[str]) -> None:
        self._lives = lives
        self.handled = 0

    async def __aenter__(self) -> Echo:
        self._lives.append("entered")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._lives.append("left")

    async def handle(self, message: Double | Block | Fail | Break | Stray | CancelOwnTask) -> int | None:
        match message:
            case Double(number):
                await checkpoint()
                return number * 2
            case Block():
                self._lives.append("blocking")
                try:
                    await anyio.sleep_forever()
                finally:
                    with anyio.CancelScope(shield=True):
                        await checkpoint()
                    self._lives.append("cleaned up")
            case Fail():
                raise ToolError("as expected")
            case Break():
                raise ZeroDivisionError("a bug")
            case CancelOwnTask(caught):
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    if not caught:
                        raise
                return 1
            case Stray():
                raise asyncio.CancelledError
            case _:
                assert_never(message)
        return None


class FakeClock:
    """Time that passes only when someone sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await checkpoint()


def ignore(value: object, error: object) -> None:
    """Take an outcome that is of no interest."""


def supervisor(
    clock: FakeClock,
    policy: RestartPolicy = RestartPolicy(),
    stopped: Callable[[str, ActorCrashed], None] | None = None,
) -> Supervisor:
    return Supervisor(policy, stopped, clock, clock.sleep)


async def test_an_ask_gives_the_handlers_reply() -> None:
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo([]))
        assert await ref.ask(Double(21)) == 42


async def test_an_expected_error_goes_to_the_asker_and_the_actor_lives() -> None:
    lives: list[str] = []
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo(lives))
        with pytest.raises(ToolError, match="as expected"):
            await ref.ask(Fail())
        assert await ref.ask(Double(1)) == 2
        assert lives == ["entered"]


async def test_a_bug_fails_the_asker_and_restarts_the_actor() -> None:
    lives: list[str] = []
    clock = FakeClock()
    async with supervisor(clock) as group:
        ref = group.spawn("echo", lambda: Echo(lives))
        with pytest.raises(ActorCrashed, match="'echo' crashed: ZeroDivisionError: a bug") as crash:
            await ref.ask(Break())
        assert isinstance(crash.value.__cause__, ZeroDivisionError)
        assert await ref.ask(Double(1)) == 2
        assert lives == ["entered", "left", "entered"]
        assert clock.slept == [0.05]


async def test_a_cancellation_that_nobody_asked_for_is_a_bug_and_cancels_nobody() -> None:
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo([]))
        with pytest.raises(ActorCrashed, match="it was cancelled, and nobody had asked for that"):
            await ref.ask(Stray())
        assert await ref.ask(Double(1)) == 2


async def test_requests_that_waited_survive_a_restart() -> None:
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo([]))
        outcomes: list[tuple[object, object]] = []
        ref.post(Break(), lambda value, error: outcomes.append((value, type(error))))
        ref.post(Double(4), lambda value, error: outcomes.append((value, type(error))))
        assert await ref.ask(Double(5)) == 10
        assert outcomes == [(None, ActorCrashed), (8, type(None))]


async def test_too_many_crashes_stop_the_actor_and_escalate() -> None:
    stopped: list[tuple[str, str]] = []
    clock = FakeClock()
    policy = RestartPolicy(restarts=3, window=60.0, backoff=1.0)
    async with supervisor(clock, policy, lambda name, crash: stopped.append((name, str(crash.cause)))) as group:
        ref = group.spawn("echo", lambda: Echo([]))
        for _ in range(4):
            with pytest.raises(ActorCrashed):
                await ref.ask(Break())
        await wait_all_tasks_blocked()
        assert stopped == [("echo", "a bug")]
        assert clock.slept == [1.0, 2.0, 4.0]
        with pytest.raises(ActorStopped):
            await ref.ask(Double(1))


async def test_an_actor_that_cannot_start_is_tried_again_then_stopped() -> None:
    stopped: list[str] = []

    def broken() -> Echo:
        raise OSError("no such device")

    async with supervisor(FakeClock(), stopped=lambda name, crash: stopped.append(str(crash))) as group:
        ref = group.spawn("echo", broken)
        with pytest.raises(ActorStopped):
            await ref.ask(Double(1))
        assert stopped == ["actor 'echo' crashed: OSError: no such device"]


@pytest.mark.pure
def test_the_restart_window_forgets() -> None:
    window = RestartWindow(RestartPolicy(restarts=2, window=10.0, backoff=1.0))
    assert [window.next(0.0), window.next(1.0), window.next(2.0)] == [1.0, 2.0, None]
    assert window.next(10.0) == 2.0, "the restart at 0 is out of the window"
    assert window.next(10.5) is None
    assert window.next(30.0) == 1.0


async def test_cancelling_an_ask_cancels_its_handler_and_waits_for_its_cleanup() -> None:
    lives: list[str] = []
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo(lives))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ref.ask, Block())
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert lives == ["entered", "blocking", "cleaned up"]
        assert await ref.ask(Double(1)) == 2, "the actor itself lives"


async def test_cancelling_an_ask_that_waits_keeps_its_handler_from_starting() -> None:
    lives: list[str] = []
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo(lives))
        first = ref.post(Block(), ignore)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ref.ask, Block())
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        first.cancel()
        assert await ref.ask(Double(1)) == 2
        assert lives.count("blocking") == 1


async def test_a_full_mailbox_makes_the_asker_wait() -> None:
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo([]), mailbox=2)
        handling = ref.post(Block(), ignore)
        await wait_all_tasks_blocked()
        ref.post(Double(1), ignore)
        ref.post(Double(2), ignore)
        with pytest.raises(asyncio.QueueFull):
            ref.post(Double(3), ignore)
        replies: list[int] = []

        async def ask() -> None:
            replies.append(await ref.ask(Double(3)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await wait_all_tasks_blocked()
            assert replies == []
            handling.cancel()
        assert replies == [6]


async def test_leaving_the_supervisor_fails_every_pending_ask() -> None:
    failed: list[str] = []

    async def ask(ref: Ref, request: Request[None]) -> None:
        try:
            await ref.ask(request)
        except ActorStopped as error:
            failed.append(error.actor)

    async with anyio.create_task_group() as tasks:
        async with supervisor(FakeClock()) as group:
            ref = group.spawn("echo", lambda: Echo([]), mailbox=1)
            for _ in range(3):
                tasks.start_soon(ask, ref, Block())
            await wait_all_tasks_blocked()
    assert failed == ["echo", "echo", "echo"]
    with pytest.raises(ActorStopped):
        await ref.ask(Block())


async def test_several_requests_are_handled_side_by_side_up_to_a_limit() -> None:
    lives: list[str] = []
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo(lives), concurrency=2)
        waiting = [ref.post(Block(), ignore) for _ in range(3)]
        await wait_all_tasks_blocked()
        assert lives.count("blocking") == 2
        waiting[0].cancel()
        await wait_all_tasks_blocked()
        assert lives.count("blocking") == 3


async def test_a_bug_among_several_restarts_the_actor_and_fails_them_all() -> None:
    lives: list[str] = []
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo(lives), concurrency=3)
        outcomes: list[object] = []
        ref.post(Block(), lambda value, error: outcomes.append(type(error)))
        await wait_all_tasks_blocked()
        with pytest.raises(ActorCrashed):
            await ref.ask(Break())
        await wait_all_tasks_blocked()
        assert outcomes == [ActorStopped]
        assert await ref.ask(Double(2)) == 4
        assert lives.count("entered") == 2


async def test_who_cancels_its_own_task_ends_alone() -> None:
    lives: list[str] = []
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo(lives), concurrency=2)
        ref.post(Block(), ignore)
        await wait_all_tasks_blocked()
        for _ in range(3):
            with pytest.raises(ActorStopped):
                await ref.ask(CancelOwnTask())
            assert await ref.ask(Double(2)) == 4
        assert await ref.ask(CancelOwnTask(caught=True)) == 1
        assert await ref.ask(Double(3)) == 6
        assert lives == ["entered", "blocking"]


async def test_what_is_left_in_the_mailbox_is_handled_by_the_next_life() -> None:
    async with supervisor(FakeClock()) as group:
        ref = group.spawn("echo", lambda: Echo([]), concurrency=2)
        outcomes: list[object] = []
        for request in (Break(), Block(), Double(1), Double(2), Double(3)):
            ref.post(request, lambda value, error: outcomes.append(value if error is None else type(error)))
        await wait_all_tasks_blocked()
        assert outcomes == [ActorCrashed, ActorStopped, 2, 4, 6]


async def test_what_the_body_raises_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with supervisor(FakeClock()) as group:
            group.spawn("echo", lambda: Echo([]))
            raise KeyError("mine")
