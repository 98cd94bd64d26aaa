"""The suite that runs against both ends: `at` is a place in this process, then one on a server."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from .places import At, local, remote


@pytest.fixture(params=[local, remote], ids=["local", "remote"])
def at(request: pytest.FixtureRequest, tmp_path: Path) -> At:
    """`async with at(model, tools=...) as place` gives where conversations run."""
    return partial(request.param, tmp_path)
