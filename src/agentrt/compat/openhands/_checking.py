"""Metaclasses whose constructors name what is wrong with their arguments: no bare `TypeError`."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import msgspec

from ...specs.arguments import check_call


class _Checking:
    if not TYPE_CHECKING:  # the constructor's signature stays that of the class

        def __call__(cls, *positional, **named):  # noqa: N805 - of a metaclass
            try:
                return super().__call__(*positional, **named)
            except TypeError as error:
                check_call(cls, positional, named, error)
                raise


class Checked(_Checking, type):
    """The metaclass of a class. Its constructor raises `ConfigurationError` for an argument that it does not have."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        if "__init__" in members:
            cls.__signature__ = signature(members["__init__"])


class CheckedStruct(_Checking, msgspec.StructMeta):
    """The metaclass of a struct, with the same errors."""
