"""The regular expressions of the package, and texts on which one that backtracks takes long."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import agentrt

# `re` parses patterns in modules that are not public, and that have no types
parser: Any = importlib.import_module("re._parser")
kinds: Any = importlib.import_module("re._constants")

LENGTH = 16_000
"""Characters of a text."""

SECONDS = 0.1
"""Of CPU for one text: a pattern that backtracks takes a hundred times that."""

TRIES = 3
"""For a text on which a pattern takes too long: other work on the machine takes the caches, too."""

_WHOLE = frozenset({"match", "fullmatch"})
_REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)
_ANYWHERE = " \n\\a0'\"(_.-/<"


class Used(NamedTuple):
    """A pattern, and the methods by which its module uses it."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def has_possessive_group(pattern: re.Pattern[Any]) -> bool:
    """Whether a pattern has a possessive quantifier on more than one character."""
    return _has_possessive_group(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))


def _has_possessive_group(node: Any) -> bool:
    if isinstance(node, parser.SubPattern):
        node = node.data
    if isinstance(node, tuple) and node and node[0] is kinds.POSSESSIVE_REPEAT:
        item = node[1][2]
        return len(item) != 1 or item[0][0] not in (kinds.IN, kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY)
    return isinstance(node, list | tuple) and any(_has_possessive_group(part) for part in node)


def used_patterns() -> Iterator[Used]:
    """Yield the patterns that modules compile, and those that they use without compiling them."""
    for found in pkgutil.walk_packages(agentrt.__path__, "agentrt."):
        if "demo_project" in found.name or found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        source = Path(str(module.__file__)).read_text()
        yield from _compiled(module, source)
        yield from _inline(module, source)


def _compiled(module: types.ModuleType, source: str) -> Iterator[Used]:
    for name, value in vars(module).items():
        if not isinstance(value, re.Pattern) or not re.search(rf"^{name}\b[^\n]*=", source, re.M):
            continue
        methods = frozenset(re.findall(rf"\b{name}\.(\w+)\(", source))
        yield Used(f"{module.__name__}.{name}", value, methods or frozenset({"search"}))


def _inline(module: types.ModuleType, source: str) -> Iterator[Used]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[pattern, *_]):
                if method in ("compile", "escape"):
                    continue
                try:
                    text = ast.literal_eval(pattern)
                except ValueError:
                    continue
                flags = re.NOFLAG
                for more in ast.walk(node):
                    if isinstance(more, ast.Attribute) and isinstance(getattr(re, more.attr, None), re.RegexFlag):
                        flags |= getattr(re, more.attr)
                yield Used(f"{module.__name__}:{node.lineno}", re.compile(text, flags), frozenset({method}))


def slow_on(used: Used) -> str | None:
    """Return the beginning of a text on which a pattern takes too long; None if there is none among those tried."""
    for text in _texts(used.pattern):
        for method in used.methods:
            if not any(_is_fast(used.pattern, method, text) for _ in range(TRIES)):
                return f"{method} on {text[:40]!r}..."
    return None


def _is_fast(pattern: re.Pattern[Any], method: str, text: str) -> bool:
    given: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    before = signal.signal(signal.SIGPROF, _too_late)
    signal.setitimer(signal.ITIMER_PROF, 5 * SECONDS)
    begun = time.process_time()
    try:
        if method in _WHOLE:
            getattr(pattern, method)(given)
        else:
            sum(1 for _ in pattern.finditer(given))
    except TimeoutError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - begun < SECONDS


def _too_late(*_: object) -> None:
    raise TimeoutError


def _texts(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield one character again and again; and, for each repetition in the pattern, what leads to it and then that."""
    yield from (character * LENGTH for character in _ANYWHERE)
    source: Any = pattern.pattern
    parsed = parser.parse(source, pattern.flags & ~re.UNICODE if isinstance(source, bytes) else pattern.flags)
    for before, repeated in set(_repetitions(parsed, "")):
        for unit in {repeated, f"{repeated} ", before + repeated, f"\\{before}"}:
            yield before + unit * (LENGTH // max(len(unit), 1))


def _repetitions(items: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield the shortest text before each repetition without a small bound, and what one round of it takes."""
    for kind, value in items:
        if kind in _REPEATS:
            _, most, inner = value
            if most > 100:
                for unit in _alternatives(inner):
                    yield before, unit
            yield from _repetitions(inner, before)
        elif kind is kinds.SUBPATTERN:
            yield from _repetitions(value[3], before)
        elif kind is kinds.ATOMIC_GROUP:
            yield from _repetitions(value, before)
        elif kind is kinds.BRANCH:
            for one in value[1]:
                yield from _repetitions(one, before)
        before += _shortest([(kind, value)])


def _alternatives(items: Any) -> Iterator[str]:
    kind: Any
    value: Any
    kind, value = items[0] if len(items) == 1 else (None, None)
    if kind is kinds.SUBPATTERN:
        yield from _alternatives(value[3])
    elif kind is kinds.BRANCH:
        for one in value[1]:
            yield _shortest(one) or "a"
    elif kind is kinds.IN:
        yield from {_shortest([(kind, value)]), *(c for c in _ANYWHERE if _is_in(value, c))}
    else:
        yield _shortest(items) or "a"


def _shortest(items: Any) -> str:
    """Return a short text that the items match, as far as that is told easily."""
    made = ""
    for kind, value in items:
        if kind is kinds.LITERAL:
            made += chr(value)
        elif kind is kinds.NOT_LITERAL:
            made += "a" if value != ord("a") else "b"
        elif kind is kinds.ANY:
            made += "a"
        elif kind is kinds.IN:
            made += next((c for c in "a0 =/\n'\"-.:_A$\\()[]{}<>|&;!,#%@*+~`" if _is_in(value, c)), "a")
        elif kind in _REPEATS:
            made += _shortest(value[2]) * value[0]
        elif kind is kinds.SUBPATTERN:
            made += _shortest(value[3])
        elif kind is kinds.ATOMIC_GROUP:
            made += _shortest(value)
        elif kind is kinds.BRANCH:
            made += _shortest(value[1][0])
    return made


_CATEGORIES = {
    kinds.CATEGORY_DIGIT: r"\d",
    kinds.CATEGORY_NOT_DIGIT: r"\D",
    kinds.CATEGORY_SPACE: r"\s",
    kinds.CATEGORY_NOT_SPACE: r"\S",
    kinds.CATEGORY_WORD: r"\w",
    kinds.CATEGORY_NOT_WORD: r"\W",
}


def _is_in(items: Any, character: str) -> bool:
    negated, found = False, False
    for kind, value in items:
        if kind is kinds.NEGATE:
            negated = True
        elif kind is kinds.LITERAL:
            found = found or ord(character) == value
        elif kind is kinds.RANGE:
            found = found or value[0] <= ord(character) <= value[1]
        elif kind is kinds.CATEGORY:
            found = found or re.match(_CATEGORIES[value], character) is not None
    return found != negated
