"""The OpenAPI document (3.1) of the REST operations, made from their declarations and types. Pure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, get_args

import msgspec

from ..controls import AnyControl
from .components import REFERENCE, body_name, component_of, components, optional, referred
from .docstrings import described
from .negotiation import COMMAS, JSON, as_list
from .principals import Scope
from .problems import MEDIA_TYPE
from .routing import Endpoint
from .schemas import NAME
from .streams import sse
from .streams.declared import STREAMS, FollowQuery, Stream

_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")

_PATH_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "id": {"type": "string", "pattern": NAME},
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "seq": {"type": "integer", "minimum": 1, "maximum": 2**53 - 1},
}

_HEADERS: Mapping[str, dict[str, Any]] = {
    "Idempotency-Key": {
        "description": "A name of this request: asked again with it, it is done once.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
    },
    "Last-Event-ID": {
        "description": "The cursor of the last event that came, as EPOCH-SEQ; before `after`.",
        "schema": {"type": "string", "pattern": "^([0-9]+-)?[0-9]+$"},
    },
    "Range": {"description": "A part of the file (RFC 9110), as `bytes=0-99`.", "schema": {"type": "string"}},
}

_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key."},
    "key": {"type": "apiKey", "in": "header", "name": "X-Session-API-Key", "description": "An API key."},
}

_PROBLEM = {"$ref": "#/components/responses/Problem"}

_TAGS = {
    "conversations": "Begin conversations, find them, look at them.",
    "controls": "What a person asks of a conversation; over a socket the same as frames.",
    "history": "What happened: events, blobs, and the state at any place.",
    "workspace": "The files that an agent works on.",
    "server": "The server itself.",
    "keys": "Access to the server.",
}


def document(endpoints: Iterable[Endpoint], streams: Iterable[Stream] = STREAMS) -> dict[str, Any]:
    """Return the document, as builtins."""
    endpoints = tuple(endpoints)
    schemas = components(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = _PARAMETER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    for stream in streams:
        _add_stream(paths.setdefault(_PARAMETER.sub(r"{\1}", stream.path), {}), stream)
    queries = {component_of(endpoint.query, schemas) for endpoint in endpoints if endpoint.query}
    groups = dict.fromkeys(endpoint.group for endpoint in endpoints)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "agentrt",
            "version": version("agentrt"),
            "description": "Conversations with software agents. Every error is a problem (RFC 9457) with a code.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "tags": [{"name": group, "description": _TAGS.get(group, "")} for group in groups],
        "paths": paths,
        "components": {
            "schemas": {name: optional(schema) for name, schema in schemas.items() if name not in queries},
            "securitySchemes": _SECURITY,
            "responses": {"Problem": _content("What went wrong.", MEDIA_TYPE, referred("Problem"))},
        },
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "tags": [endpoint.group],
        "summary": endpoint.summary,
        "parameters": [*_path(endpoint.path), *_query(endpoint, schemas), *_named(endpoint.headers)],
        "responses": _responses(endpoint),
    }
    if description := _description(endpoint):
        operation["description"] = description
    if endpoint.body is not None:
        control = endpoint.body in get_args(AnyControl)
        name = body_name(endpoint.body) if control else component_of(endpoint.body, schemas)
        required = any(field.required for field in msgspec.structs.fields(endpoint.body))
        body: dict[str, Any] = {"schema": referred(name)}
        if endpoint.example is not None:
            body["example"] = endpoint.example
        operation["requestBody"] = {"required": required, "content": {JSON: body}}
    elif endpoint.upload:
        schema = {"type": "string", "format": "binary"}
        operation["requestBody"] = {"required": True, "content": {endpoint.upload: {"schema": schema}}}
    operation["security"] = [{name: []} for name in _SECURITY] if endpoint.scope is not None else []
    if endpoint.scope is not None:
        operation["x-scope"] = endpoint.scope.value
    return operation


def _description(endpoint: Endpoint) -> str:
    told = endpoint.body if endpoint.group == "controls" else endpoint.handle
    return inspect.getdoc(told) or ""


def _path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS.get(name, {"type": "string"})}
        for name, _ in _PARAMETER.findall(path)
    ]


def _query(endpoint: Endpoint, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    if endpoint.query is None:
        return []
    return _parameters(endpoint.query, schemas[component_of(endpoint.query, schemas)])


def _parameters(query: type[msgspec.Struct], schema: dict[str, Any]) -> list[dict[str, Any]]:
    parameters = []
    for field in msgspec.structs.fields(query):
        name = field.encode_name
        shown = _without_null(schema["properties"][name])
        parameter = {"name": name, "in": "query", "required": field.required, "schema": shown}
        if said := shown.pop("description", ""):
            parameter["description"] = said
        if listed := as_list(field):
            parameter |= {"style": "form", "explode": listed != COMMAS}
        parameters.append(parameter)
    return parameters


def _add_stream(path: dict[str, Any], stream: Stream) -> None:
    """Describe a stream at its path. OpenAPI cannot describe a socket, so its messages are in an extension."""
    (_,), schemas = msgspec.json.schema_components([FollowQuery])
    described(schemas, [FollowQuery])
    parameters = [*_parameters(FollowQuery, schemas[FollowQuery.__name__]), *_named(stream.headers)]
    if stream.socket:
        told: dict[str, Any] = {"description": stream.description, "parameters": parameters}
        path["description"] = stream.description
        sides = {"toServer": "FrameToServer", "fromServer": "FrameFromServer"}
        path["x-websocket"] = told | {side: {"type": "array", "items": referred(name)} for side, name in sides.items()}
    else:
        sent = _content("The events, until the client leaves.", sse.MEDIA_TYPE, referred("ServerSentEvent"))
        problems = {str(status): _PROBLEM for status in (401, 403, 404, 422, 429)}
        path["get"] = {
            "operationId": "follow_events",
            "tags": ["history"],
            "summary": "Follow a conversation",
            "description": stream.description,
            "parameters": [*_path(stream.path), *parameters],
            "responses": {"200": sent, **problems, "default": _PROBLEM},
            "security": [{name: []} for name in _SECURITY],
            "x-scope": Scope.OBSERVE.value,
        }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter's schema without null, since the parameter is left out instead."""
    schema = {key: value for key, value in schema.items() if not (key == "default" and value is None)}
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        del schema["anyOf"]
        schema |= options[0]
    elif None in schema.get("enum", ()):
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    return schema


def _named(headers: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "in": "header", "required": False, **_HEADERS[name]} for name in headers]


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status in (endpoint.status, *endpoint.also):
        said = HTTPStatus(status).phrase
        if status == 204 or (endpoint.reply is None and endpoint.media_type == JSON):
            responses[str(status)] = {"description": said}
        elif endpoint.reply is None:
            kind = endpoint.media_type or "application/octet-stream"
            responses[str(status)] = _content(said, kind, {"type": "string", "format": "binary"})
        else:
            responses[str(status)] = _content(said, JSON, _schema_of(endpoint.reply))
    for status in _refusals(endpoint):
        responses[str(status)] = _PROBLEM
    responses["default"] = _PROBLEM
    return responses


def _refusals(endpoint: Endpoint) -> list[int]:
    found = {406} if endpoint.media_type is not None else set()
    if endpoint.scope is not None:
        found |= {401, 403, 429}
    if "{" in endpoint.path:
        found |= {404}
    if endpoint.body is not None:
        found |= {400, 409, 413, 415, 422}
    if endpoint.query is not None:
        found |= {422}
    return sorted(found)


def _schema_of(kind: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    return schema


def _content(description: str, media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}
