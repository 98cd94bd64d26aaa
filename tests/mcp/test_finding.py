"""Which tools a query finds."""

from __future__ import annotations

import json

import msgspec
import pytest

from agentrt.mcp.finding import found
from agentrt.specs import ToolDefinition

pytestmark = pytest.mark.pure


def tool(name: str, description: str = "", *properties: str) -> ToolDefinition:
    schema = {"type": "object", "properties": {one: {} for one in properties}}
    return ToolDefinition(name=name, description=description, parameters=msgspec.Raw(json.dumps(schema).encode()))


TOOLS = (
    tool("create_issue", "Open a new issue in a repository.", "title", "body"),
    tool("listIssues", "All issues."),
    tool("send_mail", "Send a message to somebody.", "recipient"),
    tool("HTTPFetch", "Get a page."),
    tool("search", "Look for words in files; may open an issue."),
    tool("größe", "Wie groß etwas ist."),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create an issue", "create_issue"),
        ("issues", "listIssues"),
        ("listing issues", "listIssues"),
        ("mails", "send_mail"),
        ("recipient", "send_mail"),
        ("http", "HTTPFetch"),
        ("größe", "größe"),
        ("search create_issue", "create_issue"),
        ('"OR* (NEAR', "search"),
    ],
)
def test_the_best_comes_first(query: str, first: str) -> None:
    names = [one.name for one in found(query, TOOLS, 5)]
    assert names[:1] == [first] or (query.startswith('"') and not names)


def test_no_more_than_asked_for_and_nothing_for_nothing() -> None:
    assert len(found("issue", TOOLS, 2)) == 2
    assert found("", TOOLS, 5) == ()
    assert found("zebra", TOOLS, 5) == ()
    assert found("issue", (), 5) == ()
    assert len({one.name for one in found("create_issue issue", TOOLS, 5)}) == len(
        found("create_issue issue", TOOLS, 5)
    )
