"""`Given`: the base of user-made configuration; each field is checked, or converted, at construction."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta
from msgspec.structs import FieldInfo, fields, force_setattr

from ..errors import ConfigurationError

T = TypeVar("T")

Amount: TypeAlias = Annotated[float, Meta(ge=0)]
Price: TypeAlias = Annotated[float, Meta(ge=0, le=1000)]
"""USD per token, bounded so that the total for many tokens is a valid JSON number."""
Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Some: TypeAlias = Annotated[int, Meta(ge=1)]
"""An integer of at least 1."""


class Checking:
    """A part of a metaclass: makes a constructor say what is wrong with its arguments."""

    if not TYPE_CHECKING:  # the constructor's signature stays that of the fields

        def __call__(cls, *positional, **named):  # noqa: N805 - a metaclass
            try:
                return super().__call__(*positional, **named)
            except TypeError as error:
                from .arguments import check_call  # only then

                check_call(cls, positional, named, error)
                raise


class CheckedStruct(Checking, msgspec.StructMeta):
    """The metaclass of a struct whose constructor raises `ConfigurationError` for an argument that it does not have."""


class Given(msgspec.Struct, frozen=True, metaclass=CheckedStruct, repr_omit_defaults=True):
    """A struct that converts values to the types of its fields: a list to a tuple, a string to a path, a dict to a
    struct.

    Raises `ConfigurationError`, a `ValueError`, for a value that cannot be converted, and for an unknown argument. A
    subclass with a `__post_init__` must call this one first.
    """

    def __post_init__(self) -> None:
        for name, kind, default in _fields(type(self)):
            value = getattr(self, name)
            if value is not default and (kept := converted(value, kind, type(self).__name__, name)) is not value:
                force_setattr(self, name, kept)


def leaves_out(given: msgspec.Struct, name: str) -> bool:
    """Return whether a field with a default was left out: its value is the default itself, not one that equals it."""
    field = next(field for field in fields(given) if field.name == name)
    return getattr(given, name) is _default(field)


def converted(value: Any, kind: Any, owner: str, name: str) -> Any:
    """Convert `value` to `kind`, or return it as it is if it already fits. Raises `ConfigurationError` for
    `owner(name=...)`.
    """
    if type(value) is kind and kind in _EXACT:
        return value
    if type(value) not in _PLAIN:
        value = _plain(value)
        if isinstance(value, _NESTED) and (unknown := next(_unknown(value, kind), None)) is not None:
            raise ConfigurationError(f"{owner}({name}=...): there is no {unknown}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(f"{owner}({name}=...): expected a finite number, not {value}")
    try:
        return msgspec.convert(value, kind, dec_hook=_as_custom)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{owner}({name}=...): {_explained(str(error), value, kind)}") from error


_PLAIN = (str, int, float, bool, type(None))
_NESTED = (dict, list, tuple)
_EXACT = (str, int, bool)
"""Types for which any value of exactly that type is valid."""


def _plain(value: Any) -> Any:
    """Convert a number or text of a custom class, such as numpy's, to the built-in type."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    return operator.index(value) if hasattr(value, "__index__") else value


def _unknown(value: Any, kind: Any) -> Iterator[str]:
    """Yield the keys of dicts, given in place of structs, that match no field and would be lost."""
    if isinstance(value, dict):
        kinds = union_members(kind)
        structs = [one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)]
        tagged = [one for one in structs if one.__struct_config__.tag == value.get(one.__struct_config__.tag_field)]
        for one in tagged or structs[:1]:
            hinted = get_type_hints(one, include_extras=True)
            hints = {field.encode_name: hinted[field.name] for field in fields(one)}
            for key, member in value.items():
                if key in hints:
                    yield from _unknown(member, hints[key])
                elif key != one.__struct_config__.tag_field:
                    yield f"{key!r} in {one.__name__}: it has {', '.join(hints)}"
        values = [get_args(one)[1] for one in kinds if get_origin(one) is dict]
        yield from (lost for member in value.values() for one in values for lost in _unknown(member, one))
    elif isinstance(value, list | tuple) and (nested := [one for one in value if isinstance(one, _NESTED)]):
        items = [get_args(one)[0] for one in union_members(kind) if get_origin(one) in (tuple, list)]
        yield from (lost for member in nested for one in items for lost in _unknown(member, one))


def instance(value: Any, kind: type[T], owner: str, name: str) -> T:
    """Return `value`, which must be a `kind`. Raises `ConfigurationError`."""
    if not isinstance(value, kind):
        raise ConfigurationError(f"{owner}({name}=...): expected {kind.__name__}, got {_typed(value)}")
    return value


def functions(value: Any, owner: str, name: str, what: str = "a function") -> dict[str, Any]:
    """Return `value` as a dict from names to functions. Raises `ConfigurationError`; `what` describes each function."""
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{owner}({name}=...): expected a dict from names to functions, got {_typed(value)}")
    for key, function in value.items():
        if not isinstance(key, str) or not callable(function):
            raise ConfigurationError(f"{owner}({name}=...): {key!r} is {what}, not {_typed(function)}")
    return dict(value)


def _typed(value: Any) -> str:
    return type(value).__name__


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any, Any], ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field.name, hints[field.name], _default(field)) for field in fields(kind))


def _default(field: FieldInfo) -> Any:
    return field.default if field.default is not msgspec.NODEFAULT else _NO_VALUE


_NO_VALUE = object()


def _as_custom(kind: type, value: Any) -> Any:
    """Convert types that msgspec does not know."""
    if kind is Path and isinstance(value, str | os.PathLike) and not isinstance(value, Path):
        return Path(value)
    return value


def _explained(error: str, value: Any, kind: Any) -> str:
    """Translate an error message of msgspec to Python's terms; for a wrong value as a whole, name the allowed types."""
    choices = [choice for one in union_members(kind) for choice in _choices(one)]
    if error.startswith("Invalid enum value") and " - at " not in error:
        return f"{value!r} is none of {', '.join(map(repr, choices))}"
    if error.startswith("Expected") and ", got " in error and " - at " not in error:
        got = f"the class itself: write {value.__name__}()" if isinstance(value, type) else type(value).__name__
        return f"expected {' or '.join(map(_name, union_members(kind)))}, got {got}"
    if isinstance(value, int | float):
        error += f", not {value}"
    return error[0].lower() + error[1:].replace("`array`", "a list").replace("`object`", "a struct or a dict")


def union_members(kind: Any) -> list[Any]:
    """Return the types that a value may have."""
    if get_origin(kind) is Annotated:
        return union_members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [member for one in get_args(kind) for member in union_members(one)]
    return [kind]


def _choices(kind: Any) -> list[Any]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [member.value for member in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _name(kind: Any) -> str:
    if kind is type(None):
        return "None"
    if choices := _choices(kind):
        return " or ".join(map(repr, choices))
    return kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind).replace("typing.", "")
