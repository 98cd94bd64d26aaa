"""The reference of the REST interface, as Markdown made of the server's OpenAPI document. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]

METHODS = ("get", "put", "post", "patch", "delete")
USED_EVERYWHERE = {"400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429", "default"}
"""Answers that are problems, which the page on REST explains."""

TOP = """# REST reference

This page is made of the server's OpenAPI document, which a running server gives at `/openapi.json`. [REST](rest.md)
explains pages, files, money, errors and what happens to a request that is sent twice. [Streams](streams.md) explains
WebSockets and server-sent events.

Each operation names the [scope](server-security.md#keys) that a key needs. Every error is a
[problem](rest.md#problems).
"""


def page(document: Node) -> str:
    """The whole page."""
    parts = [TOP]
    for tag in document["tags"]:
        operations = [*_operations(document, tag["name"])]
        if operations:
            parts += [f"## {tag['name'].capitalize()}\n", tag["description"], *operations]
    parts.append("## Types\n")
    schemas = document["components"]["schemas"]
    parts += [_type(name, schemas[name]) for name in sorted(schemas)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _operations(document: Node, tag: str) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            operation = methods.get(method)
            if operation is not None and tag in operation["tags"]:
                yield _operation(path, method, operation)


def _operation(path: str, method: str, operation: Node) -> str:
    scope = operation.get("x-scope")
    needs = f"Needs the scope `{scope}`." if scope else "Needs no key." if not operation.get("security") else ""
    parts = [f"### {method.upper()} {path} {{ #{operation['operationId']} }}", _prose(operation.get("summary", ""))]
    parts += [_prose(operation.get("description", "")), needs]
    if rows := [_parameter(one) for one in operation.get("parameters", ())]:
        parts.append(_table(("parameter", "in", "type", "meaning"), rows))
    body = operation.get("requestBody", {}).get("content", {})
    for media, content in body.items():
        parts.append(f"Body, `{media}`: {type_of(content.get('schema', {}))}")
    for status, answer in operation["responses"].items():
        if status in USED_EVERYWHERE and "$ref" in answer:
            continue
        kinds = [
            f"`{media}` {type_of(content.get('schema', {}))}".strip()
            for media, content in answer.get("content", {}).items()
        ]
        parts.append(f"Answer {status}: {', '.join(kinds) or _prose(answer.get('description', ''))}")
    return "\n\n".join(part for part in parts if part)


def _parameter(parameter: Node) -> tuple[str, ...]:
    name = f"`{parameter['name']}`" + (" (required)" if parameter.get("required") else "")
    return name, parameter["in"], type_of(parameter["schema"]), _prose(parameter.get("description", ""))


def _type(name: str, schema: Node) -> str:
    parts = [f"### {name}", _prose(schema.get("description", ""))]
    if "properties" in schema:
        required = set(schema.get("required", ()))
        rows = [
            (f"`{field}`" + (" (required)" if field in required else ""), type_of(kind), _meaning(kind))
            for field, kind in schema["properties"].items()
        ]
        parts.append(_table(("field", "type", "meaning"), rows))
    else:
        parts.append(type_of(schema))
    return "\n\n".join(part for part in parts if part)


def _meaning(kind: Node) -> str:
    said = _prose(kind.get("description", ""))
    default = kind.get("default")
    return f"{said} Default: `{default}`.".strip() if default not in (None, "", [], {}) else said


def type_of(schema: Node) -> str:
    """A schema in a few words, with links to the types that have a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(type_of, schema[several])))
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if "enum" in schema:
        return " or ".join(f"`{value!r}`".replace("'", '"') for value in schema["enum"])
    match schema.get("type"):
        case "array":
            return f"list of {type_of(schema.get('items', {}))}"
        case "object" if isinstance(schema.get("additionalProperties"), Mapping):
            return f"object of {type_of(schema['additionalProperties'])}"
        case "object":
            return "object"
        case str(kind):
            return str(schema.get("format", kind))
        case _:
            return "any JSON"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _prose(text: str) -> str:
    return re.sub(r"<(?=[a-z])", "&lt;", " ".join(text.split()))
