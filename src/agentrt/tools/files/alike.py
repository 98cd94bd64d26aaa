"""A text that a model copied with other white space, found where it is meant. Pure.

Only white space may differ: at the ends of lines, around the text, or by the same indentation before each line. What
takes the place of the text is changed in the same way.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

_BLANK = " \t"
_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_REST = re.compile(r"[ \t]*\n")


class Alike(msgspec.Struct, frozen=True):
    """Where a text is meant, what to put there, and in what the two differ."""

    start: int
    end: int
    new: str
    how: str


def alike(text: str, old: str, new: str) -> Alike | None:
    """The one place of `text` that `old` means, and `new` as it fits there; None where there is none, or several."""
    if not old.strip():
        return None
    return _by_line_ends(text, old, new) or _by_indentation(text, old, new) or _by_ends(text, old, new)


def _by_line_ends(text: str, old: str, new: str) -> Alike | None:
    core = _core(old)
    pattern = rf"[{_BLANK}]*\n".join(re.escape(line.rstrip(_BLANK)) for line in core.split("\n"))
    begins, ends = _edges(old, core)
    found = _only(("^" if _EMPTY_LINES.match(old) else begins) + pattern + ends, text)
    return None if found is None else _placed(text, found.span(), (old, core), new, "at the ends of lines")


def _by_indentation(text: str, old: str, new: str) -> Alike | None:
    """Whole lines, each further in or out by the same."""
    core = _core(old)
    lines = core.split("\n")
    margin = _margin(lines)
    first, *rest = [re.escape(line.strip() and line.removeprefix(margin).rstrip(_BLANK)) for line in lines]
    below = "".join(rf"[{_BLANK}]*\n" + (rf"(?P=margin){line}" if line else "") for line in rest)
    found = _only(rf"^(?P<margin>[{_BLANK}]*){first}{below}(?=[{_BLANK}]*$)", text)
    if found is None:
        return None
    placed = _placed(text, found.span(), (old, core), new, "in its indentation")
    kept = placed.new.split("\n")
    if any(line.strip() and not line.startswith(margin) for line in kept):
        return None
    shifted = [found["margin"] + line.removeprefix(margin) if line.strip() else line for line in kept]
    return replace(placed, new="\n".join(shifted))


def _by_ends(text: str, old: str, new: str) -> Alike | None:
    core = old.strip()
    begins, ends = _edges(old, core)
    found = _only(begins + re.escape(core) + ends, text)
    return None if found is None else _placed(text, found.span(), (old, core), new, "around it")


def _edges(old: str, core: str) -> tuple[str, str]:
    """What must not stand beside a text that has white space there: more of a word, or of a line."""
    before, after = old[: old.index(core)], old[old.index(core) + len(core) :]
    begins = r"(?<!\w)" if before and re.match(r"\w", core) else ""
    if "\n" in after:
        return begins, rf"(?=[{_BLANK}]*$)"
    return begins, r"(?!\w)" if after and re.search(r"\w\Z", core) else ""


def _only(pattern: str, text: str) -> re.Match[str] | None:
    """The only match."""
    found = re.finditer(pattern, text, re.MULTILINE)
    first = next(found, None)
    return first if first is not None and next(found, None) is None else None


def _core(old: str) -> str:
    """A text without empty lines before it and white space behind it."""
    return _EMPTY_LINES.sub("", old).rstrip()


def _margin(lines: list[str]) -> str:
    """The white space that all lines begin with that have anything else."""
    starts = [line[: len(line) - len(line.lstrip(_BLANK))] for line in lines if line.strip()]
    low, high = min(starts), max(starts)
    same = next((place for place, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    return low[:same]


def _placed(text: str, span: tuple[int, int], given: tuple[str, str], new: str, how: str) -> Alike:
    """The core of the given text is at `span`: what to do with the white space around it, which `new` may have, too.

    There are as many lines more or less behind it as `new` has at its end, of those that are there.
    """
    (old, core), (start, end) = given, span
    before, after = old[: old.index(core)], old[old.index(core) + len(core) :]
    if before:
        new = new.removeprefix(before)
    if after:
        kept, there = new.rstrip(), 0
        wanted, given_lines = new.count("\n", len(kept)), after.count("\n")
        while there < given_lines and (line := _REST.match(text, end)) is not None:
            end, there = line.end(), there + 1
        new = kept + "\n" * max(wanted - (given_lines - there), min(wanted, there, 1))
    return Alike(start, end, new, how)
