"""Makes the tree of a page's accessible elements that a model reads from Playwright's snapshot. Pure.

The snapshot is simple YAML (playwright.dev, "Aria snapshots"): a line has a role, a name in quotes, attributes in
brackets, and a text. The attribute `[ref=e5]` identifies an element. A name is text of the page, so brackets in it are
ignored.
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
"""Roles of elements that are seldom acted on. They are numbered only with a pointer cursor or the focus."""


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
        """Return an element's number, from 1, by Playwright's reference."""
        if ref not in self._of:
            self._refs.append(ref)
            self._of[ref] = len(self._refs)
        return self._of[ref]

    def ref(self, number: int) -> str | None:
        """Return the reference of an element, or None for a number that no element has had."""
        return self._refs[number - 1] if 1 <= number <= len(self._refs) else None


class Tree(msgspec.Struct, frozen=True):
    """The lines of a tree, the boxes of its elements by number, and the number of the focused one."""

    text: str
    boxes: dict[int, Box]
    focused: int | None = None


def by_index(number: int) -> str:
    """Return an element as the `browser_*` tools name it: `[5]`."""
    return f"[{number}]"


def by_bid(number: int) -> str:
    """Return an element as BrowserGym names it: `[a5]`."""
    return f"[a{number}]"


def tree_of(snapshot: str, numbers: Numbers, mark: Callable[[int], str] = by_index) -> Tree:
    """Return the tree of a snapshot with boxes."""
    lines, boxes, focused = list[str](), dict[int, Box](), None
    for line in snapshot.split("\n"):
        margin, dash, body = line.partition("- ")
        if not dash or margin.strip():
            lines.append(line)  # part of a text with several lines
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
    """Return a line without the quotes that YAML needs around it."""
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
