"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from itertools import count

import pytest

# Bytecode is kept, whatever the environment says: tests start hundreds of processes, which would compile it all again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MODULES = 10
"""How many modules of tests lie between two full collections."""

_number = count()


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Now and then, collect what is garbage and freeze the rest: the modules that tests load, litellm above all, have a
    million objects, and the collector would spend a fifth of all CPU on looking at them again.
    """
    yield
    if next(_number) % MODULES == 0:
        gc.collect()
        gc.freeze()
