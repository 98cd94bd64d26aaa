"""`nearest_model`: the known model that a misspelled name means. Pure, but for litellm's list of providers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .providers import PROVIDERS, named

_VERSION = re.compile(r"[\d.:_-]+")
_OF_THEIR_OWN = ("anthropic", "deepseek", "gemini", "mistral", "openai", "xai")
"""Providers of their own models, whose names people write alone."""
_LISTED = re.compile(r"class LlmProviders\(.*?\n\n\n", re.DOTALL)
_VALUE = re.compile(r'= "([^"]+)"')


def nearest_model(model: str, names: Iterable[str]) -> str | None:
    """Return the known model that a name means that no known model has; None if it is like none, or may be a later
    version of one: then only the digits differ.
    """
    near = nearest_models(model, names)
    _, name = named(model)
    return near[0] if near and not any(_is_version(name, named(one)[1]) for one in near) else None


def nearest_models(model: str, names: Iterable[str]) -> list[str]:
    """Return the known models, at most three, whose names are like a name that no known model has."""
    known = set(names)
    provider, name = named(model)
    whole = f"{provider}/{name}" if provider else name
    if whole in known:
        return []
    meant = {one: one for one in known} if provider else dict[str, str]()
    for one in () if provider else sorted(known, key=lambda one: (one.partition("/")[0] not in _OF_THEIR_OWN, one)):
        meant.setdefault(one.partition("/")[2], one)
    return [meant[one] for one in get_close_matches(whole, meant, n=3, cutoff=0.75)]


def is_provider(name: str, names: Collection[str]) -> bool:
    """Return whether a provider of that name is called directly, has a known model, or is one that litellm calls. For a
    thread. True if litellm's list cannot be read.
    """
    listed = _of_litellm()
    return not listed or name in PROVIDERS or name in listed or any(one.startswith(f"{name}/") for one in names)


@cache
def _of_litellm() -> frozenset[str]:
    """Return the providers that litellm lists in its source, which takes a hundredth of the time of importing it."""
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return frozenset()
    try:
        source = Path(package.origin).with_name("types").joinpath("utils.py").read_text()
    except OSError:
        return frozenset()
    found = _LISTED.search(source)
    return frozenset(_VALUE.findall(found[0])) if found is not None else frozenset()


def _is_version(name: str, other: str) -> bool:
    """Return whether two names differ in their digits alone. `gpt-55` is no version of `gpt-5.5`, but a misspelling."""
    return _VERSION.sub("", name) == _VERSION.sub("", other) and _digits(name) != _digits(other)


def _digits(name: str) -> str:
    return re.sub(r"\D", "", name)
