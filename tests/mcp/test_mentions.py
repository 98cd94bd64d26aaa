"""What a message names of servers."""

from __future__ import annotations

import pytest

from agentrt.mcp.mentions import MOST, prompt_in, resources_in

pytestmark = pytest.mark.pure

KNOWN = ("demo", "a.b")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @demo:notes://today, please", [("demo", "notes://today")]),
        ("@a.b:file:///x?y=1. @demo:n", [("a.b", "file:///x?y=1"), ("demo", "n")]),
        ("@demo:n and @demo:n", [("demo", "n")]),
        ("@other:n ada@demo:n @demo: @demo", []),
        ("(@demo:n)", []),
        (" ".join(f"@demo:{n}" for n in range(20)), [("demo", str(n)) for n in range(MOST)]),
    ],
)
def test_resources(text: str, found: list[tuple[str, str]]) -> None:
    assert list(resources_in(text, KNOWN)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/demo:review path=a.py depth=2", ("demo", "review", {"path": "a.py", "depth": "2"})),
        ("/demo:review path='a b' and words", ("demo", "review", {"path": "a b"})),
        ("/demo:review path='a", ("demo", "review", {"path": "'a"})),
        ("  /a.b:x", ("a.b", "x", {})),
        ("/other:x", None),
        ("say /demo:x", None),
        ("/demo", None),
    ],
)
def test_prompts(text: str, found: object) -> None:
    assert prompt_in(text, KNOWN) == found
