"""Fixtures for what runs on this machine."""

from __future__ import annotations

import pytest

from agentrt.specs.workspace import Confine


@pytest.fixture(params=["off", "require", "auto"])
def confine(request: pytest.FixtureRequest) -> Confine:
    """The ways in which a workspace of this machine holds its programs: not at all, in a box, behind a fence."""
    confine: Confine = request.param
    return confine
