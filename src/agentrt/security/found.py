"""What a call may do whose tool does not say it: the paths, addresses and commands among its arguments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ..specs.effects import Effects, FileText, Source

MAX_TEXT = 4096
"""Characters of the longest text that is looked at as a path or an address."""

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_PATH = re.compile(r"(?:/|~|\.\.?/|[A-Za-z]:\\)[^\n\0]*")
_NAMES_PATH = re.compile(r"(?i).*path|(?:.*[_-])?(?:paths|files?|filenames?|dirs?|director(?:y|ies)|folders?|cwd|root)")
_NAMES_ADDRESS = re.compile(r"(?i).*ur[il]|(?:.*[_-])?(?:ur[il]s|hosts?|hostname|endpoint|address|domain)")
_NAMES_COMMAND = re.compile(r"(?i)(?:.*[_-])?(?:commands?|cmd|cmdline|shell|bash|script)")
_NAMES_PROGRAM = re.compile(r"(?i)(?:.*[_-])?(?:code|python|program)")


def found_effects(arguments: msgspec.Raw, *, only_reads: bool) -> Effects:
    """What the arguments name. A path is one that is written as well, unless the tool `only_reads`.

    Raises `msgspec.DecodeError` when the arguments are not JSON.
    """
    paths, addresses, sources = dict[str, None](), dict[str, None](), dict[Source, None]()
    for name, text in texts(msgspec.json.decode(arguments)):
        if _NAMES_COMMAND.fullmatch(name):
            sources[Source(text)] = None
        elif _NAMES_PROGRAM.fullmatch(name) and not only_reads:
            sources[Source(text, "python")] = None
        elif len(text) > MAX_TEXT:
            continue
        elif _ADDRESS.fullmatch(text) or _NAMES_ADDRESS.fullmatch(name):
            addresses[text] = None
        elif text and (_PATH.fullmatch(text) or _NAMES_PATH.fullmatch(name)) and "\n" not in text:
            paths[text] = None
    writes = () if only_reads else tuple(FileText(path) for path in paths)
    return Effects(tuple(paths), writes, tuple(sources), tuple(addresses))


def texts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """All texts in a JSON value, however deep, each with the name of the member that it stands in."""
    match value:
        case str():
            yield name, value
        case list():
            for item in value:
                yield from texts(item, name)
        case dict():
            for key, item in value.items():
                yield from texts(item, str(key))
