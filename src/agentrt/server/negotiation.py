"""Decodes and checks the query, body and headers of a request. Pure."""

from __future__ import annotations

import re
import types
from datetime import datetime
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from starlette.datastructures import QueryParams

from ..specs.shorthand import decode_short
from .problems import refusal

JSON = "application/json"

T = TypeVar("T", bound=msgspec.Struct)

_LONG = re.compile(rb"[0-9]{19}")
"""Matches in an integer that may not fit into 64 bits."""

_DATED = re.compile(r"\d{4}-")
"""The beginning of a time of RFC 3339."""

COMMAS = "commas"
"""The key in `Meta(extra=...)` of a list that is one parameter, with commas. Other lists are repeated parameters."""


def decode_body(data: bytes, type: Any) -> Any:
    """Return the body as a struct. Raises `Refusal` if it is not JSON, `msgspec.ValidationError` if it does not fit."""
    try:
        body = decode_short(data, type, lambda data: msgspec.json.decode(data, type=type))
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise refusal(400, "The body is not JSON", why, "bad-json") from error
    if _LONG.search(data):
        try:
            msgspec.msgpack.encode(msgspec.json.decode(data))
        except OverflowError as error:  # it could be logged, but a state with it could not be saved
            raise msgspec.ValidationError("Expected integers of at most 64 bits") from error
    return body


def decode_query(given: QueryParams, type: type[T]) -> T:
    """Return the query as a struct. Raises `msgspec.ValidationError`, also for an unknown parameter."""
    values: dict[str, Any] = {}
    lists = {field.encode_name: separated for field in msgspec.structs.fields(type) if (separated := as_list(field))}
    for name in given:
        found = given.getlist(name)
        if name in lists:
            values[name] = [part for one in found for part in one.split(",")] if lists[name] == COMMAS else found
        elif len(found) > 1:
            raise msgspec.ValidationError(f"Expected one value, got {len(found)} - at `$.{name}`")
        else:
            values[name] = found[0]
    query = msgspec.convert(values, type, strict=False)
    for field in msgspec.structs.fields(type):  # a missing value is left out, not written as "null"
        name, value = field.encode_name, getattr(query, field.name)
        if name in values and value is None:
            raise msgspec.ValidationError(f"Expected a value, got null - at `$.{name}`")
        if isinstance(value, datetime) and not _DATED.match(values[name]):  # a number, which was taken for seconds
            raise msgspec.ValidationError(f"Expected a time as in RFC 3339 - at `$.{name}`")
    return query


def as_list(field: msgspec.structs.FieldInfo) -> str:
    """Return how a list is given as a parameter: "commas", or "often" (repeated); "" if the field is not a list."""
    extra, kind = {}, field.type
    if get_origin(kind) is Annotated:
        kind, *metas = get_args(kind)
        extra = next((meta.extra for meta in metas if isinstance(meta, msgspec.Meta) and meta.extra), {})
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    if not any(get_origin(one) in (tuple, list) for one in kinds):
        return ""
    return COMMAS if extra.get(COMMAS) else "often"


def is_json(content_type: str) -> bool:
    """Return whether a body of this media type is JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == JSON or (kind.startswith("application/") and kind.endswith("+json"))


def acceptable(accept: str, media_type: str) -> bool:
    """Return whether an Accept header (RFC 9110, 12.5.1) takes a media type; its most specific range counts."""
    if not accept.strip():
        return True
    main = media_type.partition("/")[0]
    order = {media_type: 3, f"{main}/*": 2, "*/*": 1}
    best, taken = 0, False
    for part in accept.split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        rank = order.get(kind, 0)
        if rank > best:
            best, taken = rank, not any(_none(parameter) for parameter in parameters)
    return taken


def _none(parameter: str) -> bool:
    """Return whether this is a weight of zero, as in "q=0.0"."""
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip("0. ") == ""
