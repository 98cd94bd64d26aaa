"""What the tests add to pytest: rings, and runs once more of what failed."""

from __future__ import annotations

import pytest

from tests.rings import Rings
from tests.unsteady import Repeating


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of a run that is such a run itself."""
    parser.addoption("--once", action="store_true", help="do not run a test with real parts again after it failed")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins; a worker's failures are seen by the process that started it."""
    config.pluginmanager.register(Rings())
    if not (config.getoption("once") or hasattr(config, "workerinput")):
        config.pluginmanager.register(Repeating(config))
