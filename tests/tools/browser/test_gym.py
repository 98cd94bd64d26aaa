"""BrowserGym's action space is parsed, and nothing of it is evaluated."""

from __future__ import annotations

import ast
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.tools.browser.gym import LONGEST, MOST_CALLS, SIGNATURES, GymCall, parsed

pytestmark = pytest.mark.pure


def test_calls_have_all_their_arguments() -> None:
    code = "click('a51')\nscroll(0, -100.5)\nselect_option(bid='a2', options=['x', 'y'])\n# a word\nnoop()"
    assert parsed(code) == (
        GymCall("click", {"bid": "a51", "button": "left", "modifiers": []}),
        GymCall("scroll", {"delta_x": 0.0, "delta_y": -100.5}),
        GymCall("select_option", {"bid": "a2", "options": ["x", "y"]}),
        GymCall("noop", {"wait_ms": 1000}),
    )


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("", "there is no call"),
        ("click(", "line 1"),
        ("x = 1", "this is not a call"),
        ("page.click('a1')", "this is not a call"),
        ("(lambda: click('a1'))()", "this is not a call"),
        ("launch()", "there is no launch"),
        ("click(bid)", "nothing is evaluated"),
        ("click('a' + '1')", "nothing is evaluated"),
        ("click(f'{1}')", "nothing is evaluated"),
        ("click(__import__('os').name)", "nothing is evaluated"),
        ("click(*['a1'])", "nothing is evaluated|unpacked"),
        ("click(**{'bid': 'a1'})", "unpacked"),
        ("click()", "missing a required argument: 'bid'"),
        ("click('a1', 'left', [], 1)", "too many positional"),
        ("click(5)", "Expected `str`"),
        ("click('a1', button='side')", "Invalid enum value"),
        ("mouse_click('a', 1)", "Expected `float`"),
        ("fill('a1', [[[['x']]]])", "nothing is evaluated"),
        ("click('a1')\n" * (MOST_CALLS + 1), "a program may have"),
        ("#" * (LONGEST + 1), "are the most"),
        ("(" * 5000, "line 1|cannot be read"),
        ("click('\0')", "cannot be read|line 1"),
        ("-" * 3000 + "1", "this is not a call|cannot be read|line 1"),
    ],
)
def test_what_is_refused(code: str, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        parsed(code)


SIMPLE = st.text(max_size=20) | st.integers(-(10**6), 10**6) | st.booleans() | st.none()
LITERALS = st.recursive(SIMPLE, lambda inner: st.lists(inner, max_size=3), max_leaves=4)


@given(st.sampled_from(sorted(SIGNATURES)), st.lists(LITERALS, max_size=4))
def test_any_literal_arguments_are_taken_or_told(name: str, values: list[object]) -> None:
    code = f"{name}({', '.join(map(repr, values))})"
    try:
        (call,) = parsed(code)
    except ToolError:
        return
    assert list(call.arguments.values())[: len(values)] == [
        float(v) if isinstance(v, int) and not isinstance(v, bool) and isinstance(call.arguments[k], float) else v
        for k, v in zip(call.arguments, values, strict=False)
    ]


@given(st.text(string.printable, max_size=200))
def test_any_text_is_calls_or_an_error(text: str) -> None:
    try:
        calls = parsed(text)
    except ToolError:
        return
    assert all(call.name in SIGNATURES for call in calls)


EXPRESSIONS = (
    *("open('{path}', 'w')", "(lambda: open('{path}', 'w'))()", "[open('{path}', 'w') for _ in '1']"),
    *("f\"{{open('{path}', 'w')}}\"", "__import__('pathlib').Path('{path}').touch()", "(x := open('{path}', 'w'))"),
)


@pytest.mark.simulated
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("place", ["{}", "click({})", "click(bid={})", "click(['a', {}])", "click('a') if {} else 1"])
def test_nothing_is_evaluated(expression: str, place: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    code = place.format(expression.format(path=canary))
    ast.parse(code)
    with pytest.raises(ToolError):
        parsed(code)
    assert not canary.exists()
