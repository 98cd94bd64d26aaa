"""Fixtures for tools."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from .context import WALL, opened


@pytest.fixture(params=["off", "require"])
def walls(request: pytest.FixtureRequest) -> Iterator[None]:
    """Try it without a wall, and in a box."""
    WALL.confine = request.param
    yield
    WALL.confine = "off"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the places that the contexts of a test have opened."""
    yield
    while opened:
        anyio.run(opened.pop().close)
