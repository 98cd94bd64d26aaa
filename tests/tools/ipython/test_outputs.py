"""What a kernel says, as content."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.specs import ImageContent, TextContent
from agentrt.specs.content import plain
from agentrt.tools.ipython.outputs import MOST_CHARACTERS, MOST_IMAGES, Outputs

pytestmark = pytest.mark.pure


def taken(*messages: tuple[str, dict[str, Any]]) -> Outputs:
    outputs = Outputs()
    for kind, content in messages:
        outputs.take(kind, content)
    return outputs


def printed(text: str) -> tuple[str, dict[str, Any]]:
    return "stream", {"name": "stdout", "text": text}


def shown(**data: Any) -> tuple[str, dict[str, Any]]:
    return "display_data", {"data": {kind.replace("_", "/"): value for kind, value in data.items()}}


def test_texts_and_images_come_in_their_order() -> None:
    outputs = taken(printed("a\n"), printed("b"), shown(image_png="aGk=\n", text_plain="<Figure>"), printed("c"))
    assert outputs.content == (TextContent("a\nb"), ImageContent("data:image/png;base64,aGk="), TextContent("c"))


def test_a_table_is_shown_as_its_text_and_markdown_as_itself() -> None:
    assert plain(taken(shown(text_html="<table>", text_plain="  a\n0 1")).content) == "  a\n0 1"
    assert plain(taken(shown(text_plain="<Markdown>", text_markdown="# Hi")).content) == "# Hi"


def test_an_error_has_no_colours() -> None:
    outputs = taken(("error", {"ename": "E", "evalue": "x", "traceback": ["\x1b[31mE\x1b[0m", "\x1b]8;;x\x07x"]}))
    assert outputs.failed
    assert plain(outputs.content) == "E\nx"


def test_a_long_line_takes_no_longer_than_several() -> None:
    """A million characters without a line end are looked through once."""
    assert len(plain(taken(printed("x" * 1_000_000), printed("y\rz")).content)) == 1


def test_what_is_overwritten_and_cleared_is_gone() -> None:
    assert plain(taken(printed("10%\r50%\r100%\ndone\r\n")).content) == "100%\ndone"
    assert plain(taken(printed("old"), ("clear_output", {"wait": False}), printed("new")).content) == "new"
    waits = taken(printed("old"), ("clear_output", {"wait": True}))
    assert plain(waits.content) == "old"
    waits.take(*printed("new"))
    assert plain(waits.content) == "new"


def test_what_is_too_much_is_left_out_in_the_middle() -> None:
    outputs = taken(*[printed(f"{n:07d}\n" * 10_000) for n in range(100)])
    said = plain(outputs.content)
    assert len(said) < MOST_CHARACTERS + 100
    assert said.startswith("0000000\n")
    assert said.endswith("0000099")
    assert "characters left out" in said
    many = taken(*[shown(image_png="aGk=", text_plain="<Figure>")] * (MOST_IMAGES + 2))
    assert sum(isinstance(block, ImageContent) for block in many.content) == MOST_IMAGES
    assert plain(many.content).count("[an image that is not shown: <Figure>]") == 2


@pytest.mark.parametrize("cut", ["\x1b[", "\x1b", "\x1b[3", "\x1b\x1b[0m["])
def test_half_an_escape_sequence_is_none(cut: str) -> None:
    assert "\x1b" not in plain(taken(printed(f"a{cut}")).content)


@given(st.lists(st.text(max_size=50), max_size=20))
def test_any_text_is_some_content(texts: list[str]) -> None:
    for block in taken(*map(printed, texts)).content:
        assert isinstance(block, TextContent)
        assert "\x1b[" not in block.text
