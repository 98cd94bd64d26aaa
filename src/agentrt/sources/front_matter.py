"""Front matter: the YAML between two lines of `---` at the start of a Markdown file. Pure."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from ..errors import ConfigurationError

_T = TypeVar("_T")

_SPLIT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?P<header>.*?)(?:\r?\n|(?<=\n))---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def split(text: str) -> tuple[str, str]:
    """The front matter, "" where there is none, and what follows it."""
    found = _SPLIT.match(text)
    return (found["header"], text[found.end() :]) if found else ("", text.removeprefix("\ufeff"))


def read(text: str, kind: type[_T]) -> tuple[_T, str]:
    """The front matter as `kind`, whose fields have defaults, and what follows it. Raises `ConfigurationError`."""
    header, body = split(text)
    try:
        # what stands there may be a date, a number or nothing; the types of the fields say what it is to be
        members: Any = msgspec.yaml.decode(header.encode()) if header.strip() else {}
        if not isinstance(members, dict):
            raise ConfigurationError("its front matter is no mapping of names to values: write 'name: value' lines")
        return msgspec.convert({str(name): value for name, value in members.items()}, kind, strict=False), body
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"its front matter cannot be used: {error}") from error
    except msgspec.DecodeError as error:
        told = " ".join(str(error).split())
        raise ConfigurationError(f"its front matter is no YAML ({told}); put texts with ': ' in quotes") from error
