"""The schemas of the OpenAPI document, by name, made from types. Pure.

A field with a default may be left out of a request, but a reply mostly has it. So a type that is used in both has two
schemas if they differ: `X` for replies, and `XInput` for requests. In a request a text may stand for some structs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import reduce
from operator import or_
from typing import Any, get_args

import msgspec

from ..controls import AnyControl
from ..deltas import Delta
from ..events import KnownEvent
from ..frames import FromServer, Problem, ToServer
from ..specs.shorthand import SHORT
from ..specs.workspace import BUILT_IN, WorkspaceSpec
from .docstrings import described, structs_of
from .routing import Endpoint

REFERENCE = "#/components/schemas/{name}"
_PREFIX = REFERENCE.format(name="")

SENT_EVENTS: Mapping[str, str] = {"event": "Event", "delta": "Delta", "live": "Cursor", "ended": "Problem"}
"""The schemas of the data of server-sent events, by the name of the event."""

_EVENTS = frozenset(kind.__name__ for kind in get_args(KnownEvent))
_EMPTY = (list, dict, set, frozenset, tuple)


def components(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return all schemas: of the operations, of the frames of a socket, and of server-sent events."""
    endpoints = tuple(endpoints)
    events: Any = reduce(or_, map(_schematic, get_args(KnownEvent)))
    workspaces: Any = reduce(or_, BUILT_IN)
    named = {
        "WorkspaceSpec": workspaces,
        "Control": AnyControl,
        "FrameToServer": ToServer,
        "Event": events,
        "FrameFromServer": FromServer,
    }
    taken = [AnyControl, ToServer, *(kind for one in endpoints for kind in (one.body, one.query) if kind)]
    sent = [events, workspaces, FromServer, Problem, Delta, *(one.reply for one in endpoints if one.reply)]
    tops, schemas = msgspec.json.schema_components([*taken, *sent], schema_hook=_open, ref_template=REFERENCE)
    described(schemas, [*taken, *sent])
    whole = {_key(kind, schemas): always(kind) for kind in set(structs_of([*taken, *sent]))}
    schemas |= {name: tops[[*taken, *sent].index(kind)] for name, kind in named.items()}
    schemas["EventFrame"]["properties"]["event"] = referred("Event")
    schemas["DeltaFrame"]["properties"]["delta"] = referred("Delta")
    bodies = {body_name(kind): _untagged(schemas[_key(kind, schemas)]) for kind in get_args(AnyControl)}
    events_sent = {f"Sent{kind.capitalize()}": _sent(kind, name) for kind, name in SENT_EVENTS.items()}
    schemas |= bodies | events_sent | {"ServerSentEvent": _union(SENT_EVENTS)}
    incoming = reached(schemas, {*references(tops[: len(taken)]), *bodies, "Control", "FrameToServer"})
    outgoing = reached(schemas, {*references(tops[len(taken) :]), "Event", "FrameFromServer", "ServerSentEvent"})
    made = split(schemas, incoming, outgoing, whole, {_key(kind, schemas) for kind in SHORT} & schemas.keys())
    plain = {name: _plain(name) for name in made}
    return dict(sorted((plain[name], _titled(renamed(schema, plain), plain[name])) for name, schema in made.items()))


def _open(kind: type) -> dict[str, Any]:
    """Return the schema of a type whose kinds are not all known here: of those that are built in."""
    if kind is WorkspaceSpec:
        return referred("WorkspaceSpec")
    raise NotImplementedError


def split(
    schemas: Mapping[str, Any],
    incoming: set[str],
    outgoing: set[str],
    whole: Mapping[str, set[str]],
    short: Set[str] = frozenset(),
) -> dict[str, Any]:
    """Return the schemas of requests and of replies; `whole` has, by schema, the fields that a reply always has.

    In a request a text may stand for the schemas in `short`.
    """
    both = incoming & outgoing
    differing = {name for name in both if whole.get(name, set()) - set(schemas[name].get("required", ()))}
    differing |= {name for name in both if references(schemas[name]) & short}
    while more := {name for name in both - differing if references(schemas[name]) & differing}:
        differing |= more
    inputs = {name: f"{name}Input" for name in differing}
    made = {name: _whole(schemas[name], whole.get(name, set())) for name in outgoing}
    own = incoming - outgoing | differing
    return made | {inputs.get(name, name): renamed(_with_text(schemas[name], short), inputs) for name in own}


def _with_text(node: Any, short: Set[str]) -> Any:
    """Return a part of a request's schema in which a text may stand for the schemas in `short`."""
    if isinstance(node, list):
        return [_with_text(one, short) for one in node]
    if not isinstance(node, dict):
        return node
    options = node.get("anyOf", [node] if "$ref" in node else [])
    if any(references(option.get("$ref")) & short for option in options):
        own = {key: node[key] for key in ("$ref", "anyOf", "discriminator") if key in node}
        rest = {key: value for key, value in node.items() if key not in own}
        return {**rest, "anyOf": [own, {"type": "string"}]}
    return {key: _with_text(value, short) for key, value in node.items()}


def optional(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without the defaults of its members: generators make a member required that has one."""
    members = schema.get("properties", {})
    renamed = {
        name: {"x-default" if key == "default" else key: value for key, value in member.items()}
        for name, member in members.items()
    }
    return {**schema, "properties": renamed} if members else schema


def always(kind: type[msgspec.Struct]) -> set[str]:
    """Return the JSON names of the fields that a struct always has when it is sent."""
    config, found = kind.__struct_config__, set[str]()
    for field in msgspec.structs.fields(kind):
        left_out = field.default is not msgspec.NODEFAULT or field.default_factory in _EMPTY
        if msgspec.UnsetType not in get_args(field.type) and not (config.omit_defaults and left_out):
            found.add(field.encode_name)
    if kind.__name__ in _EVENTS:
        found.add("seq")  # never the default, 0, in a log
    return found | ({config.tag_field} if config.tag_field else set())


def referred(name: str) -> dict[str, Any]:
    """Return a reference to a schema."""
    return {"$ref": REFERENCE.format(name=name)}


def component_of(kind: type[msgspec.Struct], schemas: Mapping[str, Any]) -> str:
    """Return the schema name of a struct in requests; it includes the module's if another struct has the same name."""
    name = kind.__name__ if kind.__name__ in schemas else _plain(f"{kind.__module__}.{kind.__name__}")
    return f"{name}Input" if f"{name}Input" in schemas else name


def body_name(kind: type[msgspec.Struct]) -> str:
    """Return the schema name of a control whose path says which one it is."""
    return f"{kind.__name__}Body"


def references(node: Any) -> set[str]:
    """Return the names of all schemas that a part of a document refers to."""
    if isinstance(node, str):
        return {node.removeprefix(_PREFIX)} if node.startswith(_PREFIX) else set()
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list | tuple) else ()
    return set[str]().union(*map(references, inner))


def reached(schemas: Mapping[str, Any], roots: Iterable[str]) -> set[str]:
    """Return the names of the schemas that these refer to, directly or not, and their own."""
    found, todo = set[str](), set(roots)
    while todo:
        found |= todo
        todo = set[str]().union(*(references(schemas[name]) for name in todo)) - found
    return found


def renamed(node: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a document with its references renamed, in a form that code generators understand."""
    if isinstance(node, str) and node.startswith(_PREFIX):
        name = node.removeprefix(_PREFIX)
        return _PREFIX + names.get(name, name)
    if isinstance(node, list):
        return [renamed(one, names) for one in node]
    if not isinstance(node, dict):
        return node
    match node:
        case {"enum": [value], **rest}:
            return {"const": value, **renamed(rest, names)}
        case {"items": False, "prefixItems": [first, *others], **rest} if all(other == first for other in others):
            # generators need a schema as "items"; `maxItems` still allows no more than these
            return renamed({**rest, "prefixItems": [first, *others], "items": first}, names)
        case {"default": dict(default), **rest} if references(rest):
            return {**renamed(rest, names), "x-default": default}  # generators take no object as a class's default
    return {key: renamed(value, names) for key, value in node.items()}


def _whole(schema: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    if "properties" not in schema:
        return schema
    required = {*schema.get("required", ()), *fields}
    return {**schema, "required": [name for name in schema["properties"] if name in required]}


def _key(kind: type[msgspec.Struct], schemas: Mapping[str, Any]) -> str:
    return kind.__name__ if kind.__name__ in schemas else f"{kind.__module__}.{kind.__name__}"


def _plain(name: str) -> str:
    """Return a name that generators can make a class name from: the last part of the module, then the class."""
    *modules, kind = name.split(".")
    return "".join((*(module.capitalize() for module in modules[-1:]), kind))


def _titled(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a schema with its own name as title, which generators use as class name."""
    return {**schema, "title": name} if "title" in schema else schema


def _untagged(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a control whose path says which one it is."""
    return {**schema, "required": [name for name in schema["required"] if name != "type"]}


def _sent(kind: str, name: str) -> dict[str, Any]:
    """Return the schema of a server-sent event after its lines are parsed; `data` is text that contains JSON."""
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": referred(name)}
    cursor = {"id": {"type": "string", "pattern": "^[0-9]+-[0-9]+$"}} if kind == "event" else {}
    properties = {"event": {"const": kind}, **cursor, "data": data}
    return {"title": "", "type": "object", "properties": properties, "required": list(properties)}


def _union(kinds: Iterable[str]) -> dict[str, Any]:
    parts = {kind: REFERENCE.format(name=f"Sent{kind.capitalize()}") for kind in kinds}
    return {
        "description": "What a stream of server-sent events consists of; a comment is a heartbeat.",
        "anyOf": [{"$ref": part} for part in parts.values()],
        "discriminator": {"propertyName": "event", "mapping": parts},
    }


def _schematic(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return the struct, or one with the same schema if a default is raw JSON, which msgspec makes no schema of."""
    fields = msgspec.structs.fields(kind)
    if not any(isinstance(field.default, msgspec.Raw) for field in fields):
        return kind
    same: list[Any] = []
    for field in fields:
        if isinstance(field.default, msgspec.Raw):
            same.append((field.name, Any, None))
        elif field.required:
            same.append((field.name, field.type))
        elif field.default is not msgspec.NODEFAULT:
            same.append((field.name, field.type, field.default))
        else:
            same.append((field.name, field.type, msgspec.field(default_factory=field.default_factory)))
    config = kind.__struct_config__
    return msgspec.defstruct(
        kind.__name__,
        same,
        rename={field.name: field.encode_name for field in fields},
        kw_only=True,
        omit_defaults=config.omit_defaults,
        tag_field=config.tag_field,
        tag=config.tag,
        namespace={"__doc__": kind.__doc__},
    )
