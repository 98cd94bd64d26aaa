"""The docstrings of a struct's fields, read from the source because Python drops them; for the OpenAPI document."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import msgspec


def described(schemas: dict[str, Any], types: list[Any]) -> None:
    """Add the docstrings of fields to the schemas of structs, which are given by name."""
    for kind in set(structs_of(types)):
        schema = schemas.get(kind.__name__) or schemas.get(f"{kind.__module__}.{kind.__name__}")
        if schema is not None:
            for name, said in _fields(kind).items():
                schema["properties"][name].setdefault("description", said)


def structs_of(types: list[Any]) -> Iterator[type[msgspec.Struct]]:
    """Yield all structs that types consist of."""
    yield from _structs(msgspec.inspect.multi_type_info(types), set())


def _structs(node: Any, seen: set[int]) -> Iterator[type[msgspec.Struct]]:
    if isinstance(node, tuple):
        for one in node:
            yield from _structs(one, seen)
    elif isinstance(node, msgspec.inspect.Type | msgspec.inspect.Field) and id(node) not in seen:
        seen.add(id(node))  # types may be recursive
        if isinstance(node, msgspec.inspect.StructType):
            yield node.cls
        for name in node.__struct_fields__:
            yield from _structs(getattr(node, name), seen)


def _fields(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return the docstrings of a struct's fields, with inherited ones, by their names in JSON."""
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        module = inspect.getmodule(base)
        if issubclass(base, msgspec.Struct) and module is not None:
            found |= _classes(module).get(base.__name__, {})
    return {names[name]: said for name, said in found.items() if name in names}


@cache
def _classes(module: ModuleType) -> dict[str, dict[str, str]]:
    """Return the docstrings of fields, by class and field; nothing if there is no source."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return {}
    return {node.name: dict(_strings(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _strings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                yield name, inspect.cleandoc(said).replace("\n", " ")
