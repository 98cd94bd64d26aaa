"""The kinds of members that events have, read from their types: ids, and words from a small set."""

from __future__ import annotations

from functools import cache
from typing import get_args

import msgspec
from msgspec import inspect

from . import KnownEvent
from .base import Event


@cache
def ids(kind: type[Event]) -> frozenset[str]:
    """The members of a type of events that hold ids, except for those that all events share."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return frozenset(field.encode_name for field in found.fields if _is_id(field.type))


@cache
def envelope() -> frozenset[str]:
    """The members that all events share, by their names in JSON."""
    return frozenset({"type", *Event.__struct_fields__})


@cache
def words(*kinds: type[msgspec.Struct]) -> frozenset[str]:
    """The members with a word from a small set: of events, of these structs, and of all structs inside them."""
    found: set[str] = {"type"}
    seen: set[type] = set()
    for kind in (*get_args(KnownEvent), *kinds):
        _collect("", inspect.type_info(kind), found, seen)
    return frozenset(found)


def _is_id(kind: inspect.Type) -> bool:
    match kind:
        case inspect.Metadata(extra=extra):
            return bool(extra and extra.get("id"))
        case inspect.UnionType(types=types):
            return any(map(_is_id, types))
        case inspect.VarTupleType(item_type=item):
            return _is_id(item)
        case _:
            return False


def _collect(name: str, kind: inspect.Type, found: set[str], seen: set[type]) -> None:
    match kind:
        case inspect.EnumType() | inspect.LiteralType():
            found.add(name)
        case inspect.UnionType(types=types):
            for each in types:
                _collect(name, each, found, seen)
        case inspect.VarTupleType(item_type=item) | inspect.Metadata(type=item) | inspect.DictType(value_type=item):
            _collect(name, item, found, seen)
        case inspect.StructType(cls=cls, fields=fields) if cls not in seen:
            seen.add(cls)
            for field in fields:
                _collect(field.encode_name, field.type, found, seen)
        case _:
            pass
