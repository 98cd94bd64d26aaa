"""`LoadedActor`: an actor whose module is imported, in a thread, when the actor starts. Few conversations need it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from ..loading import load
from .core import Actor


class LoadedActor(AbstractAsyncContextManager[Any]):
    """The actor that `make` makes of a module of this package. Entering it imports the module and returns the actor."""

    def __init__(self, module: str, make: Callable[[Any], Actor]) -> None:
        self._module, self._make = f"{__package__}.{module}", make

    async def __aenter__(self) -> Any:
        self._actor = self._make(await load(self._module))
        return await self._actor.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._actor.__aexit__(kind, error, trace)

    async def handle(self, message: Any) -> Any:
        """Return the reply of the actor."""
        return await self._actor.handle(message)
