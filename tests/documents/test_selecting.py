"""Which parts of a document are given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.documents.document import Unreadable, Wanted
from agentrt.documents.selecting import LONGEST_PART, Texts, numbers, sections, select, spans

pytestmark = pytest.mark.pure

BOOK = Texts("book", "page", tuple(("Index" if at == 9 else "", f"page {at + 1} " + "x" * 90) for at in range(10)))


def chosen(pages: str = "", query: str = "", limit: int = 250) -> tuple[list[int], str]:
    document = select(BOOK, Wanted(pages, query, limit))
    return [part.number for part in document.parts], document.more


@pytest.mark.parametrize(
    ("pages", "given", "more"),
    [
        ("", [1, 2], "3-10"),
        ("2", [2], ""),
        ("4-5", [4, 5], ""),
        ("9-, 1 ,3 - 3", [9, 10], "1,3"),
        ("9-99", [9, 10], ""),
        ("index", [10], ""),
        ("1,Index", [1, 10], ""),
    ],
)
def test_pages_by_number_range_and_name(pages: str, given: list[int], more: str) -> None:
    assert chosen(pages) == (given, more)


@pytest.mark.parametrize("pages", ["0", "11", "5-4", "x", "-3", "1;2", ",", "11-"])
def test_pages_that_are_not_there(pages: str) -> None:
    with pytest.raises(Unreadable, match="has no page|there is no page"):
        chosen(pages)


def test_a_page_that_is_too_long_is_cut_and_told() -> None:
    document = select(Texts("book", "page", (("", "x" * 500), ("", "y"))), Wanted(limit=100))
    assert (len(document.parts[0].text), document.more) == (100, "2")
    assert document.notes == ("page 1 has 500 characters, of which the first are shown: pages='1' gives more of it",)


def test_words_are_found_whole_and_then_each() -> None:
    source = Texts("book", "page", (("", "a tall\nTREE " + "y" * 900), ("", "tree, and tall"), ("", "grass")))
    document = select(source, Wanted(query="tall tree"))
    assert [part.number for part in document.parts] == [1]
    assert document.parts[0].text.startswith("… a tall\nTREE yyy")
    assert len(document.parts[0].text) < 300
    assert document.notes == ("'tall tree' stands in 1 page: 1",)
    assert [part.number for part in select(source, Wanted(query="tree tall")).parts] == [1, 2]
    assert select(source, Wanted(query="moss")).notes == ("'moss' stands nowhere in it",)
    assert select(source, Wanted("2-", "tall")).notes == ("'tall' stands in 1 page: 2",)
    many = Texts("book", "page", (("", "tall"),) * 60)
    assert select(many, Wanted(query="tall")).notes == ("'tall' stands in 60 pages: 1-60 (the first 25 are shown)",)


@given(st.lists(st.integers(1, 60), unique=True, min_size=1))
def test_spans_name_what_they_were_made_of(wanted: list[int]) -> None:
    assert list(numbers(spans(wanted), [""] * 60, "page")) == wanted


@given(
    st.lists(st.sampled_from(["# one", "## two", "### three", "```", "", "text", "x" * 30_000, "y" * 700]), max_size=60)
)
def test_sections_lose_nothing_and_are_bounded(lines: list[str]) -> None:
    parts = sections("\n".join(lines))
    kept = "".join(text for _, text in parts).replace("\n", "")
    assert kept == "".join(lines)
    assert all(len(text) <= 3 * LONGEST_PART for _, text in parts)


def test_a_heading_in_a_fence_begins_no_section() -> None:
    assert [name for name, _ in sections("# a\n```\n# b\n```\n# c")] == ["a", "c"]
