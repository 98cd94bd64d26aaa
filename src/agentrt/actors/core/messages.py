"""Messages to actors: a `Request`, typed by its reply, in an `Envelope` that carries the outcome back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeAlias, TypeVar

import anyio
import msgspec

from ...cancelling import guarded
from ...errors import ActorCrashed, ActorStopped, AgentrtError

R = TypeVar("R")

Then: TypeAlias = Callable[[Any, AgentrtError | None], None]
"""Called once, with the reply or else with the error."""


class Request(msgspec.Struct, Generic[R], frozen=True):
    """Base of the frozen structs that an actor handles; `R` is the type of the reply."""


class Envelope:
    """A request on its way. `then` gets its outcome; `cancel` ends its handler."""

    __slots__ = ("_ended", "_open", "_scope", "_then", "actor", "request")

    def __init__(self, actor: str, request: Request[Any], then: Then) -> None:
        self.actor, self.request, self._then = actor, request, then
        self._open = True
        self._scope: anyio.CancelScope | None = None
        self._ended: asyncio.Event | None = None

    async def run(self, handle: Callable[[Any], Awaitable[Any]], scope: anyio.CancelScope) -> None:
        """Handle the request inside `scope`. If a bug ends it, tell the asker and raise `ActorCrashed`."""
        if not self._open:
            return
        self._scope = scope
        error: AgentrtError | None = None
        try:
            with guarded:
                self._close(await handle(self.request), None)
        except AgentrtError as expected:
            error = expected
        except Exception as bug:
            error = ActorCrashed(self.actor, bug)
            raise error from bug
        finally:
            self._scope = None
            self.fail(error)
            if self._ended is not None:
                self._ended.set()

    def cancel(self) -> None:
        """Cancel the handler, or keep it from starting."""
        if self._scope is not None:
            self._scope.cancel()
        else:
            self.fail()

    def fail(self, error: AgentrtError | None = None) -> None:
        """Tell the asker the error, or that nobody will answer; do nothing if there was an outcome."""
        if self._open:
            self._close(None, error or ActorStopped(self.actor))

    async def ended(self) -> None:
        """Return when the handler has cleaned up. For an asker that was cancelled."""
        if self._scope is not None:
            self._ended = asyncio.Event()
            await self._ended.wait()

    def _close(self, value: Any, error: AgentrtError | None) -> None:
        self._open = False
        self._then(value, error)
