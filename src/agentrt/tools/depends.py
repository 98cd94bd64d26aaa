"""`Depends`: a parameter of a tool that the program gives and no model sees."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import anyio

from ..errors import ConfigurationError
from .threads import in_a_thread


class Depends:
    """What a function makes for one call of a tool: `Annotated[Database, Depends(open_database)]`.

    The function takes nothing, and may be async. One that yields goes on when the call is over, to give back what it
    made.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], Any]) -> None:
        """Raises `ConfigurationError` for what cannot be called without arguments."""
        try:
            inspect.signature(function).bind()
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"Depends(...) takes a function without parameters: {error}") from error
        self.function = function

    async def enter(self, stack: AsyncExitStack) -> Any:
        """What it makes, which is given back with the stack."""
        if inspect.isasyncgenfunction(self.function):
            return await stack.enter_async_context(asynccontextmanager(self.function)())
        if inspect.isgeneratorfunction(self.function):
            made = contextmanager(self.function)()
            value = await in_a_thread(made.__enter__)

            async def leave(*raised: Any) -> Any:
                with anyio.CancelScope(shield=True):
                    return await in_a_thread(lambda: made.__exit__(*raised))

            stack.push_async_exit(leave)
            return value
        if inspect.iscoroutinefunction(self.function):
            return await self.function()
        return await in_a_thread(self.function)
