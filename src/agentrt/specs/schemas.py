"""JSON schemas of types, and values of these types from JSON: by msgspec, or by pydantic for pydantic's types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, get_args

import msgspec

from ..errors import ConfigurationError

Reader: TypeAlias = Callable[[msgspec.Raw | bytes], Any]
"""Reads a value from JSON. Raises `msgspec.ValidationError` with a message for a model."""

_LONGEST = 5
"""The most mistakes in one message."""


class Schema(dict[str, Any]):
    """A JSON schema that knows the type that it was made from."""

    def __init__(self, schema: dict[str, Any], kind: Any) -> None:
        super().__init__(schema)
        self.kind = kind


def as_schema(given: Any) -> Any:
    """Return the JSON schema for a type's objects; return a schema of an object, or None, as it is.

    Raises `ConfigurationError` for a type or a schema of anything else.
    """
    if given is None:
        return None
    if not isinstance(given, dict) and not is_type(given):
        raise ConfigurationError(f"an output is given as a JSON schema or as a type, not as {type(given).__name__}")
    schema = given if isinstance(given, dict) else Schema(schema_of(given), given)
    if elsewhere := next((ref for ref in _references(schema) if not ref.startswith("#")), None):
        raise ConfigurationError(f"a schema refers to {elsewhere!r}: put what it means into the schema, below $defs")
    if schema.get("type") != "object":
        raise ConfigurationError(
            "an output is a JSON object: give the schema of one, or a struct, a dataclass or a pydantic model"
        )
    return schema


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON schema (2020-12) of a type, as one object with its definitions inside.

    Raises `ConfigurationError` for a type without a schema.
    """
    try:
        return _of_pydantic(kind) if is_pydantic(kind) else _of_msgspec(kind)
    except Exception as error:  # pydantic raises many kinds
        raise ConfigurationError(f"{_called(kind)} has no JSON schema: {error}") from error


def reader_of(kind: Any) -> Reader:
    """Return a reader of values of a type from JSON; it accepts "5" for a number."""
    if not is_pydantic(kind):
        return msgspec.json.Decoder(kind, strict=False).decode
    from pydantic import TypeAdapter, ValidationError  # heavy

    adapter = TypeAdapter(kind)

    def read(raw: msgspec.Raw | bytes) -> Any:
        try:
            return adapter.validate_json(bytes(raw))
        except ValidationError as error:
            told = [_told(one["loc"], one["msg"]) for one in error.errors(include_url=False)[:_LONGEST]]
            raise msgspec.ValidationError("; ".join(told)) from error

    return read


def encoded(value: Any) -> bytes:
    """Return a value as JSON, also a pydantic value. Raises `TypeError` for a value that JSON cannot represent."""
    return msgspec.json.encode(value, enc_hook=_plain)


def misfit(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return in one line how a value violates a JSON schema; None if it fits, or the schema is invalid."""
    from jsonschema import Draft202012Validator, SchemaError  # rarely needed: takes a tenth of a second
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return None
    error = next(iter(Draft202012Validator(schema, registry=Registry()).iter_errors(value)), None)
    return None if error is None else f"{error.json_path}: {error.message}"


def defaults_of(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a form's members, for those that were left out."""
    members = form.get("properties", {})
    return {name: one["default"] for name, one in members.items() if isinstance(one, dict) and "default" in one}


def is_type(given: Any) -> bool:
    """Return whether something is a type or an annotation, rather than a value."""
    return isinstance(given, type) or bool(get_args(given))


def is_pydantic(kind: Any) -> bool:
    """Return whether a type is a pydantic type, or contains one; its fields are not checked."""
    return any(
        hasattr(part, "__pydantic_validator__") or type(part).__module__.partition(".")[0] == "pydantic"
        for part in _parts(kind)
    )


def _parts(kind: Any) -> Iterator[Any]:
    yield kind
    for part in (*get_args(kind), *getattr(kind, "__metadata__", ())):
        yield from _parts(part)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} is not JSON")
    return dump(mode="json")


def _of_msgspec(kind: Any) -> dict[str, Any]:
    (top,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = str(top.get("$ref", "")).removeprefix("#/$defs/")
    if name:
        top = dict(components[name])
        if f'"#/$defs/{name}"' not in msgspec.json.encode(components).decode():  # it does not contain itself
            del components[name]
    return _bare(top, components)


def _of_pydantic(kind: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter  # heavy

    top = TypeAdapter(kind).json_schema()
    components = top.pop("$defs", {})
    name = str(top.get("$ref", "")).removeprefix("#/$defs/")
    return _bare(dict(components[name]) if name else top, components)


def _references(node: Any) -> Iterator[str]:
    """Yield the references in a schema."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _complete(node: Any) -> None:
    """Add the keys that providers require: the items of arrays, and the types of enumerations."""
    if isinstance(node, dict):
        if node.get("type") == "array":
            node.setdefault("items", {})
        if isinstance(node.get("enum"), list) and "type" not in node:
            kinds = list(dict.fromkeys(_TYPES.get(type(value), "object") for value in node["enum"]))
            node["type"] = kinds[0] if len(kinds) == 1 else kinds
        for value in node.values():
            _complete(value)
    elif isinstance(node, list):
        for value in node:
            _complete(value)


def _bare(top: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without texts that a tool gives elsewhere."""
    for said_elsewhere in ("title", "description"):
        top.pop(said_elsewhere, None)
    if top.get("type") == "object":
        top.setdefault("required", [])
        for one in top.get("properties", {}).values():
            one.pop("title", None)
    whole = {**top, "$defs": components} if components else top
    _complete(whole)
    return whole


def _told(place: tuple[int | str, ...], words: str) -> str:
    where = ".".join(map(str, place))
    return f"{where}: {words}" if where else words


def _called(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)
