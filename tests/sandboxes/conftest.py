"""Fixtures for what runs on this machine."""

from __future__ import annotations

import pytest

from agentrt.specs.workspace import Confine


@pytest.fixture(params=["off", "require"])
def confine(request: pytest.FixtureRequest) -> Confine:
    """Both ways in which a workspace of this machine holds its programs."""
    confine: Confine = request.param
    return confine
