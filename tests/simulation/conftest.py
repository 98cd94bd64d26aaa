"""What the simulated worlds ask of pytest."""

from __future__ import annotations

import pytest


@pytest.fixture
def node(request: pytest.FixtureRequest) -> str:
    """The id of the test that runs, for the command that repeats a seed of it."""
    name: str = request.node.nodeid
    return name
