"""A page as Markdown."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentrt.tools.web.markdown import MOST_ELEMENTS, converted, library

pytestmark = pytest.mark.simulated


class NotAsked:
    """Looks for no main content."""

    def extract(self, *args: Any, **more: Any) -> str:
        raise AssertionError("it takes memory by the square of what stands side by side")


async def test_a_page_of_very_many_elements_is_shown_whole() -> None:
    modules = replace(await library(), trafilatura=NotAsked())
    page = "<html><body>" + "<b>a</b>" * (MOST_ELEMENTS + 1) + "</body></html>"
    assert converted(page, "http://a.example/", modules).text.count("a") == MOST_ELEMENTS + 1
