"""What the tests add to pytest: rings, a second look at what failed, and the seconds that each file took."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.rings import Rings
from tests.unsteady import Repeating


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of these plugins."""
    parser.addoption("--once", action="store_true", help="do not run a test with real parts again after it failed")
    parser.addoption("--seconds-to", type=Path, metavar="FILE", help="add up the seconds of each file of tests there")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins; what workers report is seen by the process that started them."""
    config.pluginmanager.register(Rings())
    if hasattr(config, "workerinput"):
        return
    if not config.getoption("once"):
        config.pluginmanager.register(Repeating(config))
    if (path := config.getoption("seconds_to")) is not None:
        config.pluginmanager.register(Seconds(path))


class Seconds:
    """A plugin that adds the seconds of each file to those that a file (a JSON object) has already."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one phase of a test."""
        self._taken[report.location[0]] += report.duration  # type: ignore[assignment]

    def pytest_sessionfinish(self) -> None:
        """Write the sums."""
        before = msgspec.json.decode(self._path.read_bytes()) if self._path.exists() else {}
        sums = {file: round(before.get(file, 0.0) + seconds, 1) for file, seconds in self._taken.items()}
        self._path.write_bytes(msgspec.json.format(msgspec.json.encode(before | sums, order="sorted")) + b"\n")
