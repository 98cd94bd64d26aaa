"""What a line of a form means."""

from __future__ import annotations

from typing import Any

import pytest

from agentrt.cli.forms import prompt_of, value_of

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("said", "member", "value"),
    [
        (" red ", {"type": "string"}, "red"),
        ("", {"type": "string", "default": "blue"}, "blue"),
        ("", {"type": "string"}, None),
        ("7", {"type": "integer"}, 7),
        ("7.5", {"type": "number"}, 7.5),
        ("Yes", {"type": "boolean"}, True),
        ("n", {"type": "boolean"}, False),
        ("b", {"enum": ["a", "b"]}, "b"),
        ("b", {"oneOf": [{"const": "a"}, {"const": "b", "title": "B"}]}, "b"),
        ("a, b", {"type": "array"}, ["a", "b"]),
    ],
)
def test_a_line_becomes_a_value(said: str, member: dict[str, Any], value: object) -> None:
    assert value_of(said, member) == value


@pytest.mark.parametrize(
    ("said", "member"),
    [("x", {"type": "integer"}), ("maybe", {"type": "boolean"}), ("c", {"enum": ["a", "b"]})],
)
def test_what_cannot_be_is_asked_again(said: str, member: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"give|invalid"):
        value_of(said, member)


def test_what_stands_before_the_line() -> None:
    member = {"title": "Colour", "description": "of the\x1b[31m wall", "enum": ["a", "b"], "default": "a"}
    assert prompt_of("c", member, required=True) == "Colour (of the[31m wall) one of a, b [a]"
    assert prompt_of("c", {"type": "boolean"}, required=False) == "c y or n [nothing]"
