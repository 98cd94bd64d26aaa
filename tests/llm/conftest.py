"""A client for the tests, and the warnings of litellm that they pass over."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentrt.llm import LiteLLMClient, WireClient

_OF_LITELLM = (
    "ignore::DeprecationWarning",
    "ignore::pydantic.warnings.PydanticDeprecatedSince20",
    "ignore::ResourceWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For the tests of this directory."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for said in _OF_LITELLM:
                item.add_marker(pytest.mark.filterwarnings(said))


@pytest.fixture(params=[LiteLLMClient, WireClient], ids=["litellm", "wire"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[LiteLLMClient | WireClient]:
    """A client with the `KEYS` of the test's module, which nobody accepts; without any when there are none.

    Each test has both, so that a call means the same on either way.
    """
    made = request.param(getattr(request.module, "KEYS", {}))
    yield made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        await made.aclose()
