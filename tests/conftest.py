"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, settings

from tests.mcp.warm import warmed
from tests.plugins import pytest_addoption, pytest_configure

# No example is timed: a test is slow where others run beside it. A fixture may serve all examples of a test.
_BASE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("agentrt", _BASE, max_examples=50)
settings.register_profile("thorough", _BASE, max_examples=250)  # of 'nox -s proofs'
settings.load_profile("agentrt")

# Bytecode is kept, whatever the environment says: tests start hundreds of processes, which would compile it all again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# scripted models say what a test needs, and no titles
os.environ["AGENTRT_TITLES"] = "no"

MODULES = 10
"""How many modules of tests lie between two full collections."""

LONGEST = ("test_state_machine.py", "test_torn_log.py", "test_simulated_crashes.py", "test_mcp_conformance.py")
"""Files that take minutes among the proofs. They begin first, so that none is left to one process at the end."""

_number = count()

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Now and then, collect what is garbage and freeze the rest: the modules that tests load, litellm above all, have a
    million objects, and the collector would spend a fifth of all CPU on looking at them again.
    """
    yield
    if next(_number) % MODULES == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def warm_servers() -> Iterator[None]:
    """Have the servers of `tests.mcp.warm` start at once."""
    with warmed():
        yield
