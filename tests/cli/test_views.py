"""A run as it is shown."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from agentrt import Delta, Event
from agentrt.cli.views import LiveView
from agentrt.events import ModelCalled
from tests import samples

pytestmark = pytest.mark.pure

CALLED = ModelCalled(command="call-1", model="m")


def shown(*items: Event | Delta) -> list[str]:
    """The lines on the terminal."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=80)
    view = LiveView(console)
    for item in items:
        view.show(item)
    view.rest()
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def piece(of: Event, text: str, start: int) -> Delta:
    return Delta(of.id, "text", text, start, 5)


def test_text_stands_as_it_streams_in_and_what_did_not_is_added() -> None:
    """A slow reader may get the event before the last of its pieces."""
    answer = samples.answer("Hello, you.")
    pieces = piece(answer, "Hel", 0), piece(answer, "lo, ", 3), piece(answer, "you.", 7)
    for number in range(4):
        assert shown(*pieces[:number], CALLED, answer) == ["Hello, you."]
    thought = replace(samples.action(), thought="I look at it.")
    assert shown(piece(thought, "I look", 0), CALLED, thought) == ["I look at it."]


def test_text_goes_on_below_what_came_in_between() -> None:
    answer = samples.answer("Hello, you.")
    items = piece(answer, "Hello", 0), samples.message("wait"), piece(answer, ", ", 5), CALLED, answer
    assert shown(*items) == ["Hello", "› wait", ", you."]


def test_what_was_skipped_is_in_the_whole_that_is_told_at_the_end() -> None:
    answer = samples.answer("Hello, you.")
    items = piece(answer, "Hello", 0), piece(answer, "u.", 9), CALLED, answer
    assert shown(*items) == ["Hello", "u.", "Hello, you."]


def test_a_draft_that_begins_anew_has_a_line_of_its_own() -> None:
    answer = samples.answer("Bye.")
    assert shown(piece(answer, "Hel", 0), piece(answer, "By", 0), CALLED, answer) == ["Hel", "Bye."]
