"""The YAML at the start of a Markdown file."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ConfigurationError
from agentrt.sources.front_matter import read, split

pytestmark = pytest.mark.pure


class Header(msgspec.Struct):
    name: str = ""
    size: int = 0


@pytest.mark.parametrize(
    ("text", "header", "body"),
    [
        ("---\na: 1\n---\nbody\n", "a: 1", "body\n"),
        ("---\r\na: 1\r\n---\r\nbody", "a: 1", "body"),
        ("\ufeff---\na: 1\n---", "a: 1", ""),
        ("---\n---\nbody", "", "body"),
        ("---  \na: |\n  --- x\n---\n---\n", "a: |\n  --- x", "---\n"),
        ("no header\n---\nx\n---\n", "", "no header\n---\nx\n---\n"),
        ("---\nnever closed\n", "", "---\nnever closed\n"),
    ],
)
def test_it_is_parted_from_what_follows(text: str, header: str, body: str) -> None:
    assert split(text) == (header, body)


def test_values_are_of_the_types_of_the_fields() -> None:
    assert read("---\nname: x\nsize: '7'\nother: [x]\n---\nbody", Header) == (Header("x", 7), "body", ())
    assert read("body", Header) == (Header(), "body", ())


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("- a", "not a mapping of names to values"),
        ("name: [", "not YAML"),
        ("name: use it: now", "put texts with ': ' in quotes"),
        ("name: [x]", "Expected `str`, got `array`"),
        ("size: many", "Expected `int`"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(header: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        read(f"---\n{header}\n---\n", Header)
    assert "\n" not in str(refused.value)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigurationError):
        read(f"---\n{text}\n---\nbody", Header)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("a: " + "[" * 5000 + "]" * 5000, "nested deeper"),
        ("a: " + "- " * 5000 + "x", "nested deeper"),
        ("a: " + "x" * 20_000, "longer than"),
        ("version: 2024-13-45", "month must be in"),
        (
            "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 7)),
            "more than 10000 values",
        ),
    ],
)
def test_what_would_end_or_fill_the_process_is_refused(header: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        read(f"---\n{header}\n---\n", Header)


def test_a_field_without_a_value_is_left_alone() -> None:
    assert read("---\nname:\nsize: 7\n---\nbody", Header)[0] == Header("", 7)
