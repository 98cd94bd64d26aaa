"""Effects of a call whose tool declares none: the paths, addresses and commands found in its arguments. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from posixpath import normpath

import msgspec

from ..specs.effects import Effects, FileText, Source
from .budget import Budget, TooMuch

MAX_TEXT = 4096
"""Maximum length of a path, after normalising, or of an address, in characters; a longer one is skipped."""

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_PATH = re.compile(r"(?:/|~|\.\.?/|[A-Za-z]:\\)[^\0]*")
_NAMES_PATH = re.compile(r"(?i).*path|(?:.*[_-])?(?:paths|files?|filenames?|dirs?|director(?:y|ies)|folders?|cwd|root)")
_NAMES_ADDRESS = re.compile(r"(?i).*ur[il]|(?:.*[_-])?(?:ur[il]s|hosts?|hostname|endpoint|address|domain)")
_NAMES_COMMAND = re.compile(r"(?i)(?:.*[_-])?(?:commands?|cmd|cmdline|shell|bash|script)")
_NAMES_WORDS = re.compile(r"(?i)args|argv|arguments")
_NAMES_PROGRAM = re.compile(r"(?i)(?:.*[_-])?(?:code|python|program)")
_NAMES_METHOD = re.compile(r"(?i)(?:.*[_-])?(?:method|verb)")
_NAMES_BODY = re.compile(r"(?i)(?:.*[_-])?(?:body|payload)")
_CHANGES = re.compile(r"(?i)\s*+(?!(?:GET|HEAD|OPTIONS|TRACE)\s*+\Z)[A-Z-]{1,40}+\s*+")
"""Matches a method of HTTP that may change something."""
_NAMES = (_NAMES_PATH, _NAMES_ADDRESS, _NAMES_COMMAND, _NAMES_PROGRAM)


def found_effects(arguments: msgspec.Raw, *, only_reads: bool) -> Effects:
    """Return the effects that the arguments suggest.

    A path counts as read and, unless the tool `only_reads`, as written. Any other line without a space counts as a
    file that is read. Raises `msgspec.DecodeError` if the arguments are not JSON, and `TooMuch` if they have so many
    commands, with so many arguments for each, that these together are too long.
    """
    reads, writes, addresses, sources = dict[str, None](), dict[str, None](), dict[str, None](), dict[Source, None]()
    sends = False
    for name, text in _given(msgspec.json.decode(arguments), Budget(len(bytes(arguments)))):
        if _NAMES_COMMAND.fullmatch(name):
            sources[Source(text)] = None
            continue
        if _NAMES_PROGRAM.fullmatch(name) and not only_reads:
            sources[Source(text, "python")] = None
            continue
        sends = sends or bool(
            _NAMES_BODY.fullmatch(name) or (_NAMES_METHOD.fullmatch(name) and _CHANGES.fullmatch(text))
        )
        for line in text.split("\n"):
            line = line.strip()
            path = line if len(line) <= MAX_TEXT else normpath(line)
            if not path or len(path) > MAX_TEXT:
                continue
            if _ADDRESS.fullmatch(line) or _NAMES_ADDRESS.fullmatch(name):
                addresses[line] = None
            elif _PATH.fullmatch(path) or _NAMES_PATH.fullmatch(name):
                reads[path] = writes[path] = None
            elif " " not in path:
                reads[path] = None
    written = () if only_reads else tuple(FileText(path) for path in writes)
    return Effects(tuple(reads), written, tuple(sources), tuple(addresses), tuple(addresses) if sends else ())


def names_effects(arguments: msgspec.Raw, parameters: msgspec.Raw) -> bool:
    """Return whether a call, or the schema of its tool, names a path, an address, a command or a program."""
    try:
        found = found_effects(arguments, only_reads=False)
    except TooMuch:
        return True
    if found.writes or found.runs or found.reaches:
        return True
    declared = map(_apart, _properties(msgspec.json.decode(parameters)))
    return any(names.fullmatch(name) for name in declared for names in _NAMES)


def _properties(schema: object) -> Iterator[str]:
    match schema:
        case list():
            for item in schema:
                yield from _properties(item)
        case dict():
            if isinstance(properties := schema.get("properties"), dict):
                yield from map(str, properties)
            for item in schema.values():
                yield from _properties(item)


def _given(arguments: object, budget: Budget) -> Iterator[tuple[str, str]]:
    """Yield all texts as `texts` does, but also the keys of nested objects, and a command joined with its arguments."""
    waiting: list[tuple[object, str, bool]] = [(arguments, "", False)]
    while waiting:
        value, name, nested = waiting.pop()
        match value:
            case str():
                yield name, value
            case list():
                waiting.extend((item, name, True) for item in reversed(value))
            case dict():
                words = _words(value, budget)
                members: list[tuple[object, str, bool]] = []
                for key, item in value.items():
                    if nested:
                        members.append((key, name, True))
                    if _NAMES_COMMAND.fullmatch(apart := _apart(key)) and (words or isinstance(item, list)):
                        budget.spend(sum(map(len, words)))
                        first = [item] if isinstance(item, str) else [shlex.join(text for _, text in texts(item))]
                        members.append((" ".join([*first, *words]), apart, True))
                    else:
                        members.append((item, apart, True))
                waiting.extend(reversed(members))


def _words(value: dict[str, object], budget: Budget) -> list[str]:
    """Return the arguments among the members of an object, each quoted for a shell."""
    found = [text for key, item in value.items() if _NAMES_WORDS.fullmatch(key) for _, text in texts(item)]
    budget.spend(sum(map(len, found)))
    return [shlex.quote(text) for text in found]


def _apart(name: str) -> str:
    """Return a name with its words separated: "base_Dir" for "baseDir"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)


def texts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts in a JSON value, at any depth, in order, each with the name of its member."""
    waiting = [(value, name)]
    while waiting:
        value, name = waiting.pop()
        match value:
            case str():
                yield name, value
            case list():
                waiting.extend((item, name) for item in reversed(value))
            case dict():
                waiting.extend((item, str(key)) for key, item in reversed(value.items()))
