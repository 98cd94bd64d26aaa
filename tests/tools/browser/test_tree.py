"""Playwright's snapshots as trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.tools.browser.tree import Box, Numbers, by_bid, tree_of

pytestmark = pytest.mark.pure

SNAPSHOT = """\
- generic [active] [ref=e1] [box=0,0,10,10]:
  - heading "Shop" [level=1] [ref=e2] [box=1,2,3,4]
  - button "Buy" [ref=e3] [box=5.5,6,7,8]
  - generic [ref=e4] [box=0,0,1,1]:
    - text: Name
    - textbox "Name" [ref=e5] [box=0,0,1,1]: Ada
  - generic [ref=e6] [cursor=pointer] [box=0,0,1,1]: Open
  - 'button "Say \\"hi\\": [ref=e1]" [ref=e7] [box=0,0,1,1]'
  - link "x" [ref=e8] [cursor=pointer] [box=0,0,1,1]:
    - /url: /x
  - iframe [ref=e9] [box=0,0,1,1]:
    - button "Inner" [disabled] [ref=f1e2] [box=0,0,1,1]"""


def test_a_tree() -> None:
    numbers = Numbers()
    tree = tree_of(SNAPSHOT, numbers, by_bid)
    assert tree.text.split("\n") == [
        "[a1] generic [active]",
        "  [a2] heading 'Shop' [level=1]",
        "  [a3] button 'Buy'",
        "  generic",
        "    Name",
        "    [a4] textbox 'Name': Ada",
        "  [a5] generic: Open",
        "  [a6] button 'Say \"hi\": [ref=e1]'",
        "  [a7] link 'x'",
        "    /url: /x",
        "  [a8] iframe",
        "    [a9] button 'Inner' [disabled]",
    ]
    assert (tree.focused, tree.boxes[3]) == (1, Box(5.5, 6, 7, 8))
    assert [numbers.ref(number) for number in (3, 6, 9, 10, 0)] == ["e3", "e7", "f1e2", None, None]


def test_an_element_keeps_its_number() -> None:
    numbers = Numbers()
    tree_of(SNAPSHOT, numbers)
    again = tree_of('- button "New" [ref=e20]\n- button "Buy" [ref=e3]', numbers)
    assert again.text == "[10] button 'New'\n[3] button 'Buy'"


@given(st.text(max_size=300))
def test_any_text_is_some_tree(text: str) -> None:
    tree_of(text, Numbers())
