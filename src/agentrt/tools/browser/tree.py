"""What a page shows, as a tree of its accessible elements: from Playwright's snapshot to what a model reads. Pure.

The snapshot is YAML of a small shape (playwright.dev, "Aria snapshots"): a line is a role, a name in quotes, attributes
in brackets, of which `[ref=e5]` tells elements apart, and a text. Names are words of the page: nothing in them counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import msgspec

_LINE = re.compile(
    r'(?P<role>[\w-]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<attributes>(?: \[[^\]]*\])*)(?P<rest>:.*)?', re.DOTALL
)
_REF = re.compile(r" \[ref=((?:f\d+)?e\d+)\]")
_BOX = re.compile(r" \[box=(-?[\d.]+),(-?[\d.]+),(-?[\d.]+),(-?[\d.]+)\]")
_CURSOR = " [cursor=pointer]"
_PLAIN = frozenset({"generic", "none", "presentation", "paragraph", "group", "list", "rowgroup", "row", "main"})
"""Roles of elements that are seldom acted on: they are numbered only where the pointer says that they can be."""


class Box(msgspec.Struct, frozen=True):
    """Where an element is in the window, in CSS pixels."""

    x: float
    y: float
    width: float
    height: float


class Numbers:
    """The numbers of a page's elements, by which a model names them. An element keeps its number."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._refs: list[str] = []

    def number(self, ref: str) -> int:
        """That of an element by Playwright's reference, from 1."""
        if ref not in self._of:
            self._refs.append(ref)
            self._of[ref] = len(self._refs)
        return self._of[ref]

    def ref(self, number: int) -> str | None:
        """The reference of an element; None for a number that no element has had."""
        return self._refs[number - 1] if 1 <= number <= len(self._refs) else None


class Tree(msgspec.Struct, frozen=True):
    """The lines of a tree, the elements in it by their numbers, and which of them has the focus."""

    text: str
    boxes: dict[int, Box]
    focused: int | None = None


def by_index(number: int) -> str:
    """An element as the set of `browser_*` tools names it: `[5]`."""
    return f"[{number}]"


def by_bid(number: int) -> str:
    """An element as BrowserGym names it: `[a5]`."""
    return f"[a{number}]"


def tree_of(snapshot: str, numbers: Numbers, mark: Callable[[int], str] = by_index) -> Tree:
    """The tree of a snapshot with boxes."""
    lines, boxes, focused = list[str](), dict[int, Box](), None
    for line in snapshot.split("\n"):
        margin, dash, body = line.partition("- ")
        if not dash or margin.strip():
            lines.append(line)  # of a text with several lines
            continue
        found = _LINE.fullmatch(_bare(body))
        if found is None or found["role"] in ("text",):
            lines.append(f"{margin}{_text(body)}")
            continue
        attributes, number = found["attributes"] or "", None
        if (ref := _REF.search(attributes)) is not None and _counts(found["role"], attributes):
            number = numbers.number(ref[1])
            if (box := _BOX.search(attributes)) is not None:
                boxes[number] = Box(*map(float, box.groups()))
            focused = number if " [active]" in attributes else focused
        lines.append(f"{margin}{_shown(found, attributes, number, mark)}")
    return Tree("\n".join(lines), boxes, focused)


def _shown(found: re.Match[str], attributes: str, number: int | None, mark: Callable[[int], str]) -> str:
    rest = _BOX.sub("", _REF.sub("", attributes)).replace(_CURSOR, "")
    name = f" {_quoted(found['name'])}" if found["name"] else ""
    front = "" if number is None else f"{mark(number)} "
    return f"{front}{found['role']}{name}{rest}{found['rest'] or ''}".removesuffix(":")


def _counts(role: str, attributes: str) -> bool:
    return role not in _PLAIN or _CURSOR in attributes or " [active]" in attributes


def _bare(body: str) -> str:
    """A line without the quotes that YAML needs around it."""
    if body.startswith("'"):
        quoted, _, rest = body[1:].replace("''", "\0").partition("'")
        return quoted.replace("\0", "'") + rest.replace("\0", "'")
    return body


def _text(body: str) -> str:
    return _bare(body).removeprefix("text: ")


def _quoted(name: str) -> str:
    try:
        return repr(json.loads(name))
    except ValueError:
        return name
