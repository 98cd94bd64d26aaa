"""What a model types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.tools.terminals.keys import typed, typed_on_screen

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("ls", b"ls\n"),
        ("ls\n", b"ls\n"),
        ("C-c", b"\x03"),
        ("c-D", b"\x04"),
        ("UP", b"\x1b[A"),
        ("ENTER", b"\n"),
        ("<Esc>", b"<Esc>\n"),
    ],
)
def test_lines_and_keys(text: str, sent: bytes) -> None:
    assert typed(text) == sent


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("dd", b"dd"),
        ("ia < b<Esc>:wq<Enter>", b"ia < b\x1b:wq\r"),
        ("one\ntwo", b"one\rtwo"),
        ("ESC", b"\x1b"),
        ("ENTER", b"\r"),
        ("<CR><BS><Space><LT>", b"\r\x7f <"),
        ("end", b"end"),
        ("return", b"return"),
        ("<del>old</del>", b"<del>old</del>"),
        ("C-\\", b"\x1c"),
        ("C-]", b"\x1d"),
        ("<F1><F5><F6><F12>", b"\x1b[[A\x1b[[E\x1b[17~\x1b[24~"),
        ("<C-x><M-x><PageDown>", b"\x18\x1bx\x1b[6~"),
        ("<div><C-1><nothing>", b"<div><C-1><nothing>"),
        ("q", b"q"),
        ("ü", "ü".encode()),
    ],
)
def test_on_a_screen(text: str, sent: bytes) -> None:
    assert typed_on_screen(text) == sent


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="<\n")))
def test_any_other_text_is_typed_as_it_is(text: str) -> None:
    sent = typed_on_screen(text)
    assert sent == text.encode() or len(text) <= 9
