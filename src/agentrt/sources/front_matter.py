"""Front matter: the YAML between two lines of `---` at the start of a Markdown file. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from ..errors import ConfigurationError

_T = TypeVar("_T")

LONGEST = 16_384
"""Maximum number of characters of front matter."""
DEEPEST = 32
MOST = 10_000
"""Maximum number of values in front matter."""

_NESTED = re.compile(r"(?:[-?:][ \t]+){32}")
_SPLIT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?P<header>.*?)(?:\r?\n|(?<=\n))---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def split(text: str) -> tuple[str, str]:
    """Return the front matter, "" if there is none, and the text after it."""
    found = _SPLIT.match(text)
    return (found["header"], text[found.end() :]) if found else ("", text.removeprefix("\ufeff"))


def read(text: str, kind: type[_T]) -> tuple[_T, str, tuple[str, ...]]:
    """Return the front matter as `kind`, whose fields have defaults, the text after it, and a note on each field that
    seems to be misspelt. Other unknown fields are ignored. Raises `ConfigurationError`.
    """
    header, body = split(text)
    try:
        _check(header)
        # a value may be decoded as a date, a number or nothing; the type of its field says what it is meant to be
        members: Any = msgspec.yaml.decode(header.encode()) if header.strip() else {}
        if members is None:
            members = {}
        if not isinstance(members, dict):
            raise ConfigurationError("its front matter is not a mapping of names to values: write 'name: value' lines")
        _bounded(members)
        given = {str(name): _text(value) for name, value in members.items() if value is not None}
        return msgspec.convert(given, kind, strict=False), body, _meant(given, _known(cast(Any, kind)))
    except ConfigurationError:
        raise
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"its front matter cannot be used: {error}") from error
    except (ValueError, RecursionError, OverflowError) as error:  # also for an impossible date or number
        told = " ".join(str(error).split())
        raise ConfigurationError(f"its front matter is not YAML ({told}); put texts with ': ' in quotes") from error


def _check(header: str) -> None:
    """Raise `ConfigurationError` for text that is too long, or so deep that the parser would crash the process."""
    if len(header) > LONGEST:
        raise ConfigurationError(f"its front matter is longer than {LONGEST} characters")
    if header.count("[") + header.count("{") > DEEPEST or _NESTED.search(header):
        raise ConfigurationError(f"its front matter is nested deeper than {DEEPEST} levels, or has as many lists")


def _bounded(members: Any) -> None:
    """Raise `ConfigurationError` for too many values: aliases of YAML can multiply them."""
    left, count = [members], 0
    while left:
        value = left.pop()
        count += 1
        if count > MOST:
            raise ConfigurationError(f"its front matter has more than {MOST} values")
        left += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _text(value: Any) -> Any:
    """Return a value, with the numbers in a list as texts, because they are words there."""
    if isinstance(value, list):
        return [str(one) if isinstance(one, int | float) else one for one in value]
    return value


def _meant(given: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    unknown = [name for name in given if name not in known]
    if not unknown:
        return ()
    plain = {_plain(name): name for name in known}
    close = {name: plain.get(_plain(name)) or _closest(name, known) for name in unknown}
    return tuple(f"{name!r} is not a field: {meant!r} seems to be meant" for name, meant in close.items() if meant)


@cache
def _known(kind: type) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def _closest(name: str, known: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(name, known, 1, 0.8)), None)
