"""How paths are held against patterns."""

from __future__ import annotations

import threading
import time

import pytest

from agentrt.errors import ToolError
from agentrt.tools.search.including import expressions
from agentrt.tools.search.running import fitting
from tests.timing import within

pytestmark = pytest.mark.pure


def test_a_pattern_that_takes_too_long_ends() -> None:
    """And holds up no other thread meanwhile."""
    rounds, stop = [0], threading.Event()

    def count() -> None:
        while not stop.wait(0.001):
            rounds[0] += 1

    other = threading.Thread(target=count)
    other.start()
    begun = time.monotonic()
    with pytest.raises(ToolError, match="too many"):
        fitting([("a" * 5000 + "!", 0)], (r"(?:(?:a|aa|aaa)*)*(?:aa|a)*$",), seconds=0.3)
    stop.set()
    other.join()
    assert time.monotonic() - begun < 5
    assert rounds[0] > 10


def test_many_stars() -> None:
    """Which a search that goes back at each of them would not end."""
    assert fitting([(f"{'a' * 100}/x.py", 0)], expressions("*a" * 8 + "b/x.py")) == []


def test_those_that_fit() -> None:
    rows = [("a.py", 0), ("b/c.py", 0), ("b/c.ts", 0)]
    assert fitting(rows, expressions("b/*.{py,js}")) == [("b/c.py", 0)]


def test_a_long_path_and_few_stars() -> None:
    """Which are held against it by what cannot be stopped."""
    paths = [("a" * 4000 + "!", 0)] * 20
    assert within(60, lambda: fitting(paths, expressions("*a*b"), seconds=60))


def test_whoever_does_not_want_to_know_any_more_is_asked() -> None:
    def enough() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        fitting([("a", 0)], expressions("*a"), enough)
