"""The references of the site, which are made of code: docs/site. `nox -s docs` builds and checks the rest."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import agentrt
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.openapi import document

sys.path.append(str(Path(__file__).parent.parent / "docs" / "site"))
import api
import rest

pytestmark = pytest.mark.pure


@pytest.mark.simulated
def test_the_rest_reference_has_every_operation_and_every_type_that_it_links_to() -> None:
    page = rest.page(document(ENDPOINTS))
    for endpoint in ENDPOINTS:
        assert f"{{ #{endpoint.name} }}" in page
    headings = {heading.lower() for heading in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([a-z0-9]+)\)", page)) <= headings
    assert "Needs the scope `steer`." in page


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "#/components/schemas/Cursor"}, "[Cursor](#cursor)"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "array", "items": {"type": "integer"}}, "list of integer"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "object of string"),
        ({"enum": ["a", "b"]}, '`"a"` or `"b"`'),
        ({"const": "LLM"}, '`"LLM"`'),
        ({"type": "string", "format": "date-time"}, "date-time"),
        ({}, "any JSON"),
    ],
)
def test_a_type_in_words(schema: dict[str, object], said: str) -> None:
    assert rest.type_of(schema) == said


def test_the_python_reference_has_each_public_name_once_where_it_is_defined() -> None:
    pages = api.pages()
    named = re.findall(r"^::: (\S+)$", "\n".join(pages.values()), re.MULTILINE)
    assert len(named) == len(set(named))
    for name in named:
        module, _, own = name.rpartition(".")
        assert hasattr(import_module(module), own), name
    first = re.findall(r"\.(\w+)$", pages["reference/agentrt.md"], re.MULTILINE)
    assert sorted(first) == sorted(agentrt.__all__)
