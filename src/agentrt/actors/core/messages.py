"""What goes to an actor: a request that names its reply, in an envelope that carries the reply back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import anyio
import msgspec

from ...errors import ActorCrashed, ActorStopped, AgentrtError

R = TypeVar("R")


class Request(msgspec.Struct, Generic[R], frozen=True):
    """Base of the frozen structs that an actor handles; `R` is the type of the reply."""


class Envelope:
    """A request on its way: `reply` is its outcome, `cancel` ends its handler unless that is not `cancellable`."""

    __slots__ = ("_cancellable", "_ended", "_scope", "actor", "reply", "request")

    def __init__(self, actor: str, request: Request[Any], reply: asyncio.Future[Any], *, cancellable: bool) -> None:
        self.actor, self.request, self.reply, self._cancellable = actor, request, reply, cancellable
        self._scope: anyio.CancelScope | None = None
        self._ended: asyncio.Event | None = None

    async def run(self, handle: Callable[[Any], Awaitable[Any]]) -> None:
        """Handle the request. Raises `ActorCrashed` when a bug ended it, after the asker was told."""
        if self.reply.done():
            return
        error: AgentrtError | None = None
        try:
            if self._cancellable:
                with anyio.CancelScope() as self._scope:
                    self._succeed(await handle(self.request))
            else:
                self._succeed(await handle(self.request))
        except AgentrtError as expected:
            error = expected
        except Exception as bug:
            error = ActorCrashed(self.actor, bug)
            raise error from bug
        finally:
            self._fail(error)
            if self._ended is not None:
                self._ended.set()

    def cancel(self) -> None:
        """Cancel the handler, or keep it from starting."""
        if self._scope is not None:
            self._scope.cancel()
        elif self._cancellable:
            self._fail(None)

    def fail(self) -> None:
        """Tell the asker that nobody will answer."""
        self._fail(None)

    async def ended(self) -> None:
        """Return when the handler has cleaned up; for an asker that was cancelled, whose reply is gone."""
        if self._scope is not None:
            self._ended = asyncio.Event()
            await self._ended.wait()

    def _succeed(self, value: Any) -> None:
        if not self.reply.done():
            self.reply.set_result(value)

    def _fail(self, error: AgentrtError | None) -> None:
        if not self.reply.done():
            self.reply.set_exception(error or ActorStopped(self.actor))
            self.reply.exception()  # so that an asker who has gone leaves no warning
