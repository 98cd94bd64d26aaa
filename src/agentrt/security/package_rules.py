"""Rules for programs that fetch code and run or install it, by where the code comes from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .calls import Call, names
from .rating import Rating
from .verdicts import high, medium, unknown

_PLACE = re.compile(r"(?:[\w.-]+\s*@\s*)?(?:git\+)?(?:https?|ssh|git|ftp)://|(?:github|gitlab|bitbucket|gist):|git@")
"""A URL or a repository, in contrast to a package's name in a registry."""

_REGISTRY = re.compile(
    r"https://(?:(?:test\.)?pypi\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|crates\.io)(?:/|$)"
)
_PACKAGES = ("npm:", "jsr:")
_MODULE = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}/\S+")
_RUNNERS = names("node npx uvx pipx uv npm pnpm yarn bun deno go")
_INSTALLERS = names("pip npm pnpm yarn bun deno uv poetry pdm pipenv cargo gem go conda mamba easy_install composer")
_RUN = names("run exec dlx x tool create init")
_INSTALL = names("install add i download wheel get require sync")


def rate_unread(call: Call) -> Iterator[Rating]:
    """Rate code in a build tool's own language."""
    if call.name == "cmake" and "-P" in call.words:
        yield unknown("runs code that no rule reads")


def rate_packages(call: Call) -> Iterator[Rating]:
    """Rate running or installing code from a URL or repository that the call names."""
    operands = [word for word in call.words if not word.startswith("-")]
    places = [word for word in call.words if _PLACE.match(word.partition("=")[2] or word) and not _REGISTRY.match(word)]
    first = operands[0] if operands else ""
    if call.name == "go" and first == "run" and any(_MODULE.match(word) for word in operands[1:2]):
        places.append(operands[1])
    if call.name in ("deno", "bun") and any(word.startswith(_PACKAGES) for word in operands[:2]):
        yield medium("fetches and runs a package", ("network",), ("web",))
    if not places:
        return
    if call.name in _RUNNERS and (first in (*_RUN, *places) or call.name in ("npx", "uvx")):
        yield high("runs what it fetches", ("network",), ("web",))
    elif call.name in _INSTALLERS and any(word in _INSTALL for word in operands[:2]):
        yield high("installs from a place of its own", ("network",), ("web",))
