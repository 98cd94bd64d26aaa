from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from starlette.datastructures import QueryParams

from agentrt.server.negotiation import acceptable, decode_body, decode_query, is_json
from agentrt.server.problems import Refusal

pytestmark = pytest.mark.pure


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    number: int = 0
    words: Annotated[tuple[str, ...], Meta(extra={"commas": True})] = ()
    pairs: tuple[str, ...] = ()
    flag: bool | None = None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", Wanted()),
        ("number=7&flag=true", Wanted(7, flag=True)),
        ("words=a,b", Wanted(words=("a", "b"))),
        ("words=a&words=b,c", Wanted(words=("a", "b", "c"))),
        ("pairs=a:1,2&pairs=b:3", Wanted(pairs=("a:1,2", "b:3"))),
        ("pairs=%C3%A9", Wanted(pairs=("é",))),
    ],
)
def test_a_query_is_decoded(query: str, found: Wanted) -> None:
    assert decode_query(QueryParams(query), Wanted) == found


@pytest.mark.parametrize("query", ["number=x", "number=1&number=2", "other=1", "flag=perhaps", "flag=null"])
def test_a_query_that_does_not_fit(query: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"`\$\.|unknown field"):
        decode_query(QueryParams(query), Wanted)


@given(st.binary())
def test_any_bytes_are_a_body_or_refused(data: bytes) -> None:
    with suppress(Refusal, msgspec.ValidationError):
        assert isinstance(decode_body(data, Wanted), Wanted)


@given(st.text())
def test_any_accept_header_is_read(header: str) -> None:
    assert acceptable(header, "application/json") in (True, False)


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("", True),
        ("*/*", True),
        ("application/*", True),
        ("text/html, application/json;q=0.2", True),
        ("text/html", False),
        ("application/json;q=0, */*", False),
        ("application/json; q=0.000", False),
        ("*/*;q=0, application/json", True),
    ],
)
def test_the_most_specific_range_counts(header: str, taken: bool) -> None:
    assert acceptable(header, "application/json") is taken


@pytest.mark.parametrize(
    ("kind", "json"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/merge-patch+json", True),
        ("text/json", False),
        ("", False),
        ("application/jsonx", False),
    ],
)
def test_what_is_json(kind: str, json: bool) -> None:
    assert is_json(kind) is json


def test_integers_of_more_than_64_bits_are_refused_wherever_they_are() -> None:
    assert decode_body(b'{"number":9223372036854775807}', Wanted).number == 2**63 - 1
    with pytest.raises(msgspec.ValidationError, match="64 bits"):
        decode_body(b'{"number":100000000000000000000}', Wanted)
