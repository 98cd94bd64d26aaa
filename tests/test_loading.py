"""Libraries that are loaded when they are needed."""

from __future__ import annotations

import json

import pytest

from agentrt.errors import ToolError
from agentrt.loading import load, load_extra

pytestmark = pytest.mark.simulated


async def test_an_extra_that_is_missing_is_named() -> None:
    assert (await load_extra("json", "web")).loads("1") == 1
    with pytest.raises(ToolError, match=r"needs no_such_library.*pip install 'agentrt\[web\]'"):
        await load_extra("no_such_library", "web")


async def test_a_module_that_is_there_is_had_at_once() -> None:
    with pytest.raises(StopIteration) as had:  # without a round of the loop
        load("json").send(None)
    assert had.value.value is json
