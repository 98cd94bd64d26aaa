from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from agentrt import codec
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.openapi import document
from agentrt.testing import ScriptedLLM, finish
from tests import samples

from .endpoints.helpers import begin, settled
from .served import served

DOCUMENT = document(ENDPOINTS)


def references(node: Any) -> set[str]:
    """All that a part of the document refers to."""
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set[str]()
        return own.union(*map(references, node.values()))
    return set[str]().union(*map(references, node)) if isinstance(node, list) else set()


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/components/schemas/{name}", **DOCUMENT})


def test_every_reference_leads_somewhere() -> None:
    for reference in references(DOCUMENT):
        node: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            assert part in node, reference
            node = node[part]


def test_every_operation_is_described() -> None:
    named = list[str]()
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            named.append(operation["operationId"])
            assert operation["summary"], (path, method)
            assert operation["description"], (path, method)
            assert "default" in operation["responses"]
            inner = {found["name"] for found in operation["parameters"] if found["in"] == "path"}
            assert inner == set(re.findall(r"\{(\w+)\}", path))
            assert (operation["security"] == []) == ("x-scope" not in operation)
    assert len(named) == len(set(named)) == len(ENDPOINTS)


def test_a_server_without_keys_asks_for_none() -> None:
    open_document = document(ENDPOINTS, keys=False)
    for operations in open_document["paths"].values():
        assert all(operation["security"] == [] for operation in operations.values())


def test_examples_are_what_they_are_examples_of() -> None:
    shown = 0
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                if "example" in content:
                    shown += 1
                    jsonschema.Draft202012Validator({**content["schema"], **DOCUMENT}).validate(content["example"])
    assert shown > 5


@pytest.mark.parametrize("event", samples.every_event(), ids=lambda event: type(event).__name__)
def test_every_event_is_as_it_is_described(event: Any) -> None:
    if type(event).__name__ in ("UnknownEvent", "CondensationSummaryEvent"):
        return  # of a later version; never stored
    validator("Event").validate(msgspec.json.decode(codec.encode(event)))


async def test_it_is_served_and_what_is_served_is_as_described(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        status, told = await client.ask("GET", "/openapi.json")
        assert (status, told["openapi"]) == (200, "3.1.0")
        assert told["paths"].keys() == DOCUMENT["paths"].keys()
        info = await settled(client, (await begin(client, message="Begin"))["id"])
        validator("ConversationInfo").validate(info)
        base = f"/conversations/{info['id']}"
        for path, name in (
            (f"{base}/events", "EventPage"),
            (f"{base}/state", "StateInfo"),
            (f"{base}/files", "FileList"),
            ("/conversations", "ConversationPage"),
            ("/tools", "ToolList"),
            ("/search?query=begin", "SearchResults"),
            ("/server_info", "ServerInfo"),
            ("/health", "Health"),
            ("/nowhere", "Problem"),
        ):
            validator(name).validate((await client.ask("GET", path))[1])


def test_fields_are_described_by_what_stands_below_them_in_the_source() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["Agent"]["properties"]["rules"]["description"].startswith("What is allowed, asked or denied")
    assert schemas["ConversationInfo"]["properties"]["parent"]["description"] == (
        "The conversation that this is a fork of."
    )
    (epoch,) = [
        found
        for found in DOCUMENT["paths"]["/conversations/{id}/events"]["get"]["parameters"]
        if found["name"] == "epoch"
    ]
    assert epoch["description"].startswith("That of the cursor")
