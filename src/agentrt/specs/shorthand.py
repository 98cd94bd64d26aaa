"""`decode_short`: reads JSON with the short forms that constructors take, such as a name for an `LLM`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import fields

from .condensers import NamedCondenser
from .context import PluginSource
from .given import Given, union_members
from .llm import LLM
from .mcp import MCPServer, as_server
from .tool import Tool

T = TypeVar("T")

SHORT: Mapping[type[msgspec.Struct], str] = {LLM: "model", NamedCondenser: "name", PluginSource: "source", Tool: "name"}
"""The structs for which a text may stand, with the field that has the text."""


def decode_short(data: bytes | msgspec.Raw, kind: Any, decode: Callable[[bytes | msgspec.Raw], T]) -> T:
    """Return what `decode` makes of JSON for a type, with its short forms replaced.

    Raises the errors of `decode`, and `msgspec.ValidationError` for an object without the tag that says which of
    several types it is, and for a name that no field of an agent's configuration has.
    """
    try:
        made = decode(data)
    except msgspec.ValidationError:
        return decode(msgspec.json.encode(in_full(msgspec.json.decode(data), kind)))
    kind_made: type = type(made)
    if not _has_configuration(kind_made):
        return made
    given = msgspec.json.decode(data)
    full = in_full(given, kind)
    return made if full == given else decode(msgspec.json.encode(full))


@cache
def _has_configuration(kind: type) -> bool:
    """Return whether a struct is configuration of an agent, or one of its own fields is."""
    if not issubclass(kind, msgspec.Struct):
        return False
    members = (member for hint in get_type_hints(kind).values() for member in union_members(hint))
    return any(isinstance(one, type) and issubclass(one, Given) for one in (kind, *members))


def in_full(value: Any, kind: Any, path: str = "$") -> Any:
    """Return a JSON value, as builtins, with a struct in place of each text that stands for one, and with our names of
    an MCP server's fields.

    `path` is its place in a document, for errors. Raises `msgspec.ValidationError` as `decode_short` does.
    """
    kinds = union_members(kind)
    structs = [one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    if isinstance(value, str) and str not in kinds:
        short = next((one for one in structs if one in SHORT), None)
        return value if short is None else {**_tag_of(short), SHORT[short]: value}
    if isinstance(value, list):
        items = [get_args(one)[0] for one in kinds if get_origin(one) in (tuple, list) and get_args(one)]
        return [in_full(item, items[0], f"{path}[{at}]") for at, item in enumerate(value)] if items else value
    if not isinstance(value, dict):
        return value
    if structs and (chosen := _chosen(value, structs, path)) is not None:
        hinted = get_type_hints(chosen, include_extras=True)
        hints = {field.encode_name: hinted[field.name] for field in fields(chosen)}
        if chosen is MCPServer:
            value = as_server(value)
        if issubclass(chosen, Given):
            _check_names(value, [*hints, chosen.__struct_config__.tag_field or ""], path)
        return {
            key: in_full(member, hints[key], f"{path}.{key}") if key in hints else member
            for key, member in value.items()
        }
    values = [get_args(one)[1] for one in kinds if get_origin(one) is dict]
    return {key: in_full(member, values[0], f"{path}.{key}") for key, member in value.items()} if values else value


def _check_names(value: dict[str, Any], known: list[str], path: str) -> None:
    """Raise `msgspec.ValidationError` for a name that is not known: a struct would leave it out without a word."""
    for name in value:
        if name not in known:
            meant = "".join(f", perhaps `{near}`" for near in get_close_matches(name, known, n=1))
            raise msgspec.ValidationError(f"Object contains unknown field `{name}`{meant} - at `{path}`")


def _chosen(value: dict[str, Any], structs: list[type[msgspec.Struct]], path: str) -> type[msgspec.Struct] | None:
    """Return the struct that an object is, by its tag; None if there is no such tag."""
    if len(structs) == 1:
        return structs[0]
    field = structs[0].__struct_config__.tag_field or "type"
    if field not in value:
        tags = ", ".join(repr(one.__struct_config__.tag) for one in structs)
        raise msgspec.ValidationError(f"Object missing required field `{field}`, which is one of {tags} - at `{path}`")
    return next((one for one in structs if one.__struct_config__.tag == value[field]), None)


def _tag_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    config = kind.__struct_config__
    return {config.tag_field: config.tag} if config.tag_field else {}
