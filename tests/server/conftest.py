"""The server's tests run in the event loop in which `agentrt serve` runs."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Of this directory's tests, by the name of the event loop."""
    return {"uvloop": uvloop.new_event_loop}
