"""`Following`: keeps a mirror up to date over a socket, which reconnects from its cursor when it is cut."""

from __future__ import annotations

import logging

import anyio
import msgspec

from ..errors import AgentrtError, RequestRefused, ServerUnreachable
from ..frames import Alive, Ended, Heartbeat, Problem
from .backoff import Backoff
from .mirror import Gap, Mirror
from .problems import error_of
from .transport import Cut, Transport, path_of

_log = logging.getLogger(__name__)


class Following:
    """The connection that follows one conversation; `run` is for its own task."""

    def __init__(self, transport: Transport, name: str, mirror: Mirror) -> None:
        self._transport, self._name, self._mirror = transport, name, mirror
        self._first, self._socket = anyio.Event(), anyio.CancelScope()

    async def live(self) -> None:
        """Return when everything up to now was received for the first time, or following has failed."""
        await self._first.wait()

    def renew(self) -> None:
        """Replace the socket by a new one: it is behind the server's other answers."""
        self._socket.cancel()

    async def run(self) -> None:
        """Follow until cancelled, or until an error of the server that retrying cannot fix.

        Followers of the mirror get that error, and also `ServerUnreachable`.
        """
        backoff, place = Backoff(), self._transport.place
        try:
            while True:
                cut: Cut | Gap = Cut("it was behind", sent=True)
                try:
                    with anyio.CancelScope() as self._socket:
                        await self._follow(backoff)
                except (Cut, Gap) as problem:
                    cut = problem
                if backoff.elapsed >= place.give_up:
                    raise ServerUnreachable(place.url, str(cut))
                wait = backoff.next()
                _log.info("conversation %s at %s: %s; again in %.2f s", self._name, place.url, cut, wait)
                await anyio.sleep(wait)
        except AgentrtError as error:
            self._mirror.feed.fail(error)
        except msgspec.DecodeError as error:
            self._mirror.feed.fail(RequestRefused(200, "events", f"what it sent is not understood: {error}"))
        finally:
            self._first.set()

    async def _follow(self, backoff: Backoff) -> None:
        cursor = self._mirror.cursor
        path = f"{path_of(self._name)}/events?after={cursor.seq}&epoch={cursor.epoch}&deltas=1"
        async with self._transport.socket(path, self._name) as socket:
            while True:
                frames, seq = await socket.receive(), self._mirror.cursor.seq
                if any(isinstance(frame, Heartbeat) for frame in frames):
                    await socket.send(Alive())
                if self._mirror.take(frames):
                    self._first.set()
                backoff.well(progress=self._mirror.cursor.seq > seq)
                if ended := [frame.problem for frame in frames if isinstance(frame, Ended)]:
                    raise self._end_of(ended[0])

    def _end_of(self, problem: Problem) -> Exception:
        if problem.status == 503 and problem.code != "log-failed":
            return Cut(problem.detail or problem.title, sent=True)
        return error_of(problem, self._transport.place.url, self._name)
