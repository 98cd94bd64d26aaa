"""`Checked`: the metaclass of a class whose constructor names what is wrong with its arguments: no bare `TypeError`."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ...specs.given import Checking


class Checked(Checking, type):
    """A class with it raises `ConfigurationError` for an argument that it does not have."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        if "__init__" in members:
            cls.__signature__ = signature(members["__init__"])
