from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from agentrt import codec
from agentrt.events import KnownEvent
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.openapi import document
from agentrt.testing import ScriptedLLM, finish
from tests import samples

from .endpoints.helpers import begin, settled
from .served import served

pytestmark = pytest.mark.pure

DOCUMENT = document(ENDPOINTS)
METHODS = ("get", "put", "post", "patch", "delete")


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


def operations_of(path: str) -> dict[str, dict[str, Any]]:
    """The operations on a path, by method."""
    return {
        name: found
        for name, found in DOCUMENT["paths"][path].items()
        if name in ("get", "put", "post", "patch", "delete")
    }


def test_every_operation_is_described() -> None:
    named = list[str]()
    for path in DOCUMENT["paths"]:
        for method, operation in operations_of(path).items():
            named.append(operation["operationId"])
            assert operation["summary"], (path, method)
            assert operation["description"], (path, method)
            assert "default" in operation["responses"]
            inner = {found["name"] for found in operation["parameters"] if found["in"] == "path"}
            assert inner == set(re.findall(r"\{(\w+)\}", path))
            assert (operation["security"] == []) == ("x-scope" not in operation)
    assert len(named) == len(set(named)) == len(ENDPOINTS) + 1, "and the stream"


def test_examples_are_what_they_are_examples_of() -> None:
    shown = 0
    for path in DOCUMENT["paths"]:
        for operation in operations_of(path).values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                if "example" in content:
                    shown += 1
                    jsonschema.Draft202012Validator({**content["schema"], **DOCUMENT}).validate(content["example"])
    assert shown > 5


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """All objects of a part of the document."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(inner)


def test_what_has_a_default_may_be_left_out_of_a_body_and_stands_in_a_reply() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert (schemas["Cursor"]["required"], schemas["CursorInput"]["required"]) == (["epoch", "seq"], [])
    validator("Follow").validate({"type": "follow", "conversation": "c", "after": {"seq": 3}})
    assert not validator("Live").is_valid({"type": "live", "conversation": "c", "cursor": {"seq": 3}})
    assert set(schemas["MessageEvent"]["required"]) >= {"type", "id", "timestamp", "seq", "content"}
    assert "source" not in schemas["MessageEvent"]["required"], "left out where it is the default"
    assert schemas["SendMessageBody"]["required"] == ["content"]
    assert schemas["KeyInfo"]["required"] == list(schemas["KeyInfo"]["properties"])
    for path in DOCUMENT["paths"]:
        for operation in operations_of(path).values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for name in closure(references(content)):
                    required, properties = schemas[name].get("required", ()), schemas[name].get("properties", {})
                    assert not any("default" in properties[field] for field in required), (path, name)


def closure(found: set[str]) -> set[str]:
    """The names of schemas, with those of all that they consist of."""
    names, schemas = {reference.rpartition("/")[2] for reference in found}, DOCUMENT["components"]["schemas"]
    while more := {r.rpartition("/")[2] for name in names for r in references(schemas[name])} - names:
        names |= more
    return names


def test_one_of_several_is_told_by_a_constant() -> None:
    unions = [node for node in nodes(DOCUMENT) if "discriminator" in node]
    assert len(unions) > 10
    for union in unions:
        tag, mapping = union["discriminator"]["propertyName"], union["discriminator"]["mapping"]
        assert sorted(mapping.values()) == sorted(option["$ref"] for option in union["anyOf"])
        for value, reference in mapping.items():
            schema = DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]]
            assert schema["properties"][tag] == {"const": value}
            assert tag in schema["required"]
    assert not [node for node in nodes(DOCUMENT) if isinstance(node.get("enum"), list) and len(node["enum"]) == 1]


def test_generators_know_its_words() -> None:
    """What openapi-python-client, for one, does not take, though JSON Schema allows it."""
    for node in nodes(DOCUMENT["components"]["schemas"]):
        assert node.get("items") is not False
        assert not (isinstance(node.get("default"), dict) and references(node)), "a default that is a class's object"


def test_each_schema_has_a_name_and_a_title_of_its_own() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert all(re.fullmatch(r"[A-Z]\w+", name) for name in schemas)
    assert {name: schema["title"] for name, schema in schemas.items() if schema.get("title", name) != name} == {}


def test_streams_are_described_at_their_paths() -> None:
    one, several = DOCUMENT["paths"]["/conversations/{id}/events"], DOCUMENT["paths"]["/events"]
    for path in (one, several):
        assert "WebSocket" in path["description"]
        sides = {side: path["x-websocket"][side]["items"]["$ref"] for side in ("toServer", "fromServer")}
        assert {side: found.rpartition("/")[2] for side, found in sides.items()} == {
            "toServer": "FrameToServer",
            "fromServer": "FrameFromServer",
        }
    assert one["get"]["responses"]["200"]["content"].keys() == {"application/json"}
    stream = DOCUMENT["paths"]["/conversations/{id}/events/stream"]["get"]
    assert stream["responses"]["200"]["content"].keys() == {"text/event-stream"}
    assert [found["name"] for found in stream["parameters"]] == [
        "id",
        "after",
        "epoch",
        "deltas",
        "Last-Event-ID",
    ]


@pytest.mark.real
async def test_what_streams_send_is_as_described(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        name = (await settled(client, (await begin(client, message="Begin"))["id"]))["id"]
        frames, kinds = list[Any](), set[str]()
        async with client.session.ws_connect(f"{client.url}/conversations/{name}/events") as socket:
            message = [{"type": "do", "id": "1", "conversation": name, "control": {"type": "rename", "title": "x"}}]
            schema = DOCUMENT["paths"]["/events"]["x-websocket"]["toServer"]
            jsonschema.Draft202012Validator({**schema, **DOCUMENT}).validate(message)
            await socket.send_json([*message, {"type": "nonsense"}])
            while not {"event", "live", "ack", "refused"} <= {frame["type"] for frame in frames}:
                frames += await socket.receive_json(timeout=10)
        for frame in frames:
            validator("FrameFromServer").validate(frame)
        async with client.session.get(f"{client.url}/conversations/{name}/events/stream") as answer:
            while kinds != {"event", "live"}:
                lines = (await answer.content.readuntil(b"\n\n")).decode().splitlines()
                sent = dict(line.split(": ", 1) for line in lines if line)
                if "event" in sent:
                    kinds.add(sent["event"])
                    validator("ServerSentEvent").validate(sent)
                    named = DOCUMENT["components"]["schemas"][f"Sent{sent['event'].capitalize()}"]
                    inner = named["properties"]["data"]["contentSchema"]["$ref"].rpartition("/")[2]
                    validator(inner).validate(msgspec.json.decode(sent["data"]))


@pytest.mark.parametrize("event", samples.every_event(), ids=lambda event: type(event).__name__)
def test_every_event_is_as_it_is_described(event: Any) -> None:
    if type(event).__name__ in ("UnknownEvent", "CondensationSummaryEvent"):
        return  # of a later version; never stored
    validator("Event").validate(msgspec.json.decode(codec.encode(replace(event, seq=7))))


@pytest.mark.parametrize("kind", get_args(KnownEvent), ids=lambda kind: kind.__name__)
def test_the_members_of_an_event_are_those_that_the_log_has(kind: type[msgspec.Struct]) -> None:
    assert set(DOCUMENT["components"]["schemas"][kind.__name__]["properties"]) == {
        "type",
        *kind.__struct_encode_fields__,
    }


@pytest.mark.real
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
