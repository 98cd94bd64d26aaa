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
    known = set(names)
    provider, name = named(model)
    whole = f"{provider}/{name}" if provider else name
    if whole in known:
        return None
    if provider:
        meant = {one: one for one in known}
    else:
        meant = {one.partition("/")[2]: one for one in sorted(known) if one.partition("/")[0] in _OF_THEIR_OWN}
    near = get_close_matches(whole, meant, n=3, cutoff=0.75)
    return meant[near[0]] if near and all(_letters(one) != _letters(whole) for one in near) else None


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


def _letters(name: str) -> str:
    return _VERSION.sub("", name)
