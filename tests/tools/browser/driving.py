"""Calls of browser tools, as a conversation makes them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from agentrt.actors.core.leases import Leases
from agentrt.protocols import Observation, ToolExecutor
from agentrt.secrets import SecretRegistry
from agentrt.specs.content import plain
from agentrt.tools.browser import BROWSER_TOOLS, browse
from agentrt.tools.browser.held import Held
from agentrt.tools.browser.observed import BrowserObservation
from agentrt.tools.browser.session import Session

from ..context import FakeContext

KINDS = {kind.name: kind for kind in (*BROWSER_TOOLS, browse)}


class Browser:
    """The tools of one conversation, and what the last call was told."""

    def __init__(self, context: FakeContext, **params: Any) -> None:
        self.context, self._params = context, params
        self._executors: dict[str, ToolExecutor] = {}
        self.last: BrowserObservation | None = None
        self.text = ""

    async def __call__(self, name: str, **arguments: Any) -> str:
        kind = KINDS[name]
        if name not in self._executors:
            self._executors[name] = kind.executor(self._params)
        found: Observation = await self._executors[name](
            kind.read(msgspec.Raw(msgspec.json.encode(arguments))), self.context
        )
        assert isinstance(found, BrowserObservation)
        self.last, self.text = found, plain(found.content)
        return self.text

    async def do(self, name: str, **arguments: Any) -> str:
        """A call of the set."""
        return await self(f"browser_{name}", **arguments)

    async def code(self, code: str, **arguments: Any) -> str:
        """A program of BrowserGym's."""
        return await self("browse", code=code, **arguments)

    async def context_session(self) -> Session:
        """The session that all of them share."""
        held = Held(self._params)
        try:
            return await held.session(self.context)
        finally:
            held.release()

    def number(self, element: str) -> int:
        """The number of an element that was shown last, by its role and name."""
        found = re.search(rf"\[a?(\d+)\] {re.escape(element)}", self.text)
        assert found is not None, (element, self.text)
        return int(found[1])

    def bid(self, element: str) -> str:
        return f"a{self.number(element)}"

    async def close(self) -> None:
        for executor in self._executors.values():
            await executor.aclose()


@asynccontextmanager
async def browsing(place: Path, registry: SecretRegistry | None = None, **params: Any) -> AsyncIterator[Browser]:
    """The tools of a conversation that works there."""
    context = FakeContext(place, registry=registry)
    async with Leases() as leases:
        context.leases = leases
        browser = Browser(context, **params)
        try:
            yield browser
        finally:
            await browser.close()
