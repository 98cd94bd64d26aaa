"""`Depends`: a parameter of a tool that the program provides and the model does not see."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import anyio

from ..errors import ConfigurationError
from .threads import in_a_thread


class Depends:
    """A value that a function makes for one call of a tool: `Annotated[Database, Depends(open_database)]`.

    The function takes no arguments and may be async. A function that yields is resumed after the call, to clean up.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], Any]) -> None:
        """Raises `ConfigurationError` if `function` cannot be called without arguments."""
        try:
            inspect.signature(function).bind()
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"Depends(...) takes a function without parameters: {error}") from error
        self.function = function

    async def enter(self, stack: AsyncExitStack) -> Any:
        """Return the value; `stack` cleans it up when it closes."""
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
