"""The model's own rating of its calls."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.context.own_ratings import own_rating, rated
from agentrt.specs import SecurityRisk, ToolAnnotations
from tests.samples import definition

pytestmark = pytest.mark.pure

LOOK = rated(definition("look"))


def arguments(**given: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(given))


def test_a_tool_asks_for_a_rating_and_a_summary() -> None:
    shape = msgspec.json.decode(LOOK.parameters)
    assert set(shape["properties"]) == {"security_risk", "summary"}
    assert shape["required"] == ["security_risk", "summary"]
    assert shape["properties"]["security_risk"]["enum"] == ["UNKNOWN", "LOW", "MEDIUM", "HIGH"]


def test_what_only_reads_is_not_rated() -> None:
    reads = replace(definition("look"), annotations=ToolAnnotations(read_only=True))
    assert rated(reads) is reads
    given = arguments(security_risk="HIGH")
    assert own_rating(given, reads).arguments is given


@pytest.mark.parametrize(
    ("said", "risk"),
    [
        ("HIGH", "HIGH"),
        (" low ", "LOW"),
        ("Medium", "MEDIUM"),
        ("harmless", "UNKNOWN"),
        (3, "UNKNOWN"),
        (None, "UNKNOWN"),
    ],
)
def test_the_rating_is_taken_out_of_the_arguments(said: object, risk: str) -> None:
    own = own_rating(arguments(path="/x", security_risk=said, summary="Looks."), LOOK)
    assert msgspec.json.decode(own.arguments) == {"path": "/x"}
    assert (own.risk, own.summary) == (SecurityRisk(risk), "Looks.")


def test_a_call_without_a_rating_is_unknown() -> None:
    own = own_rating(arguments(path="/x", summary=["no", "text"]), LOOK)
    assert (own.risk, own.summary) == (SecurityRisk.UNKNOWN, "")


def test_a_tool_that_asks_for_no_rating_keeps_arguments_of_these_names() -> None:
    given = arguments(security_risk="HIGH", summary="x")
    assert own_rating(given, definition("look")).arguments is given
    assert own_rating(given, None).arguments is given
