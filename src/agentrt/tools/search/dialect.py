"""Translates patterns of ripgrep (those of Rust's `regex`) for Python's `regex`. Pure.

Syntax that ripgrep refuses is left as it is: only Python's `regex` gets such a pattern.
"""

from __future__ import annotations

import re

_BY_LINE = re.compile(r"\\.|\(\?([a-zA-Z]*)-([a-zA-Z]+)([:)])", re.DOTALL)
_FLAGS = re.compile(r"\(\?(?!R\))([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_OPENS = re.compile(r"\((?:\?(?:P?<(?![=!])\w+>|<?[=!]|[>|:])|\*)?")
_TIMES = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}|\{,\d+\}")
_NUMBERED = re.compile(r"\\[xuU]\{([0-9A-Fa-f]{1,8})\}")
_ESCAPE = re.compile(r"\\(?:b\{[a-z-]+\}|[pPN]\{[^}]*\}|.)", re.DOTALL)
_ANCHORS = {"A": "^", "z": "$", "Z": "$"}
_BOUNDS = {
    r"\<": r"\m", r"\b{start}": r"\m", r"\b{start-half}": r"(?<!\w)",
    r"\>": r"\M", r"\b{end}": r"\M", r"\b{end-half}": r"(?!\w)",
}  # fmt: skip
_SET = re.compile(r"\[\^?\]?")
"""The beginning of a set; a bracket right after it closes nothing and is a character."""
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ", "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-\/:-@\[-`{-~", "space": r"\t-\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
"""The POSIX classes within brackets; in ripgrep they cover only ASCII."""


def by_line(pattern: str) -> str:
    """Return the pattern with anchors of a line in place of anchors of the whole text.

    The meaning of the latter for ripgrep depends on its version and the line ends of a file.
    """
    return _BY_LINE.sub(_line_anchor, pattern)


def _line_anchor(found: re.Match[str]) -> str:
    if found[3] is None:
        return _ANCHORS.get(found[0][1:], found[0])
    on, off = found[1], found[2].replace("m", "")
    flags = f"{on}-{off}" if off else on
    return f"(?{flags}{found[3]}" if flags or found[3] == ":" else ""


def for_regex(pattern: str) -> str:
    """Return the pattern for `regex`, version 1, with simple case folding as in ripgrep."""
    return "(?-f)" + _Translation(pattern).result


class _Translation:
    """One pass over a pattern; the item to which a repetition would apply begins at `_out[_atom]`."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0
        self._out = list[str]()
        self._atom: int | None = None
        self._open = list[int]()
        self._repeated = False
        while self._at < len(pattern):
            self._step()
        self.result = "".join(self._out)

    def _step(self) -> None:
        pattern, at = self._pattern, self._at
        if self._atom is not None and (times := _TIMES.match(pattern, at)):
            self._repeat(times[0])
        elif pattern[at] == "\\" and (escape := (_NUMBERED.match(pattern, at) or _ESCAPE.match(pattern, at))):
            self._add(_escaped(escape), escape.end())
        elif pattern[at] == "[":
            self._set()
        elif flags := _FLAGS.match(pattern, at):
            self._flags(flags)
        elif opens := _OPENS.match(pattern, at):
            self._begin(opens[0], opens.end())
        elif pattern[at] == ")" and self._open:
            begun = self._open.pop()
            self._add(")", at + 1)
            self._atom = begun
        elif pattern[at] == "|":
            self._add("|", at + 1)
            self._atom = None
        else:
            self._add(pattern[at], at + 1)

    def _add(self, text: str, until: int) -> None:
        self._atom, self._repeated, self._at = len(self._out), False, until
        self._out.append(text)

    def _begin(self, text: str, until: int) -> None:
        self._open.append(len(self._out))
        self._add(text, until)
        self._atom = None

    def _repeat(self, times: str) -> None:
        """Add a repetition. An item that is already repeated is repeated as a whole. A `?` or `+` after the repetition
        is part of it.
        """
        assert self._atom is not None
        self._at += len(times)
        if self._repeated:
            self._out[self._atom :] = ["(?:", *self._out[self._atom :], ")"]
        if self._pattern.startswith(("?", "+"), self._at):
            times, self._at = times + self._pattern[self._at], self._at + 1
        self._out.append(times)
        self._repeated = True

    def _flags(self, flags: re.Match[str]) -> None:
        """Translate flags. Drop `U`, which only decides which of several matches is found, and `R` and `u`, which
        always hold. Turning `u` off becomes `a`, for ASCII.
        """
        on, off, end = flags[1], flags[2] or "", flags[3]
        if "x" in on:  # the rest may have comments, so it is left as it is
            self._out.append(self._pattern[self._at :])
            self._at = len(self._pattern)
            return
        on = on.translate(_GONE) + ("a" if "u" in off else "")
        off = off.translate(_GONE)
        said = f"{on}-{off}" if off else on
        if end == ":":
            self._begin(f"(?{said}:", flags.end())
        else:
            self._add(f"(?{said})" if said else "", flags.end())
            self._atom = None

    def _set(self) -> None:
        """Translate a set of characters in brackets, with the sets in it."""
        pattern, at, depth, out = self._pattern, self._at, 0, list[str]()
        while at < len(pattern):
            posix = _POSIX.match(pattern, at)
            if depth and posix and posix[2] in _CLASSES:
                known = _CLASSES[posix[2]]
                out.append(f"[^{known}]" if posix[1] else known)
                at = posix.end()
            elif opens := _SET.match(pattern, at):
                depth, at = depth + 1, opens.end()
                out.append(opens[0].replace("]", r"\]"))
            elif pattern[at] == "]":
                depth, at = depth - 1, at + 1
                out.append("]")
                if not depth:
                    break
            elif escape := (_NUMBERED.match(pattern, at) or _ESCAPE.match(pattern, at)):
                out.append(_escaped(escape))
                at = escape.end()
            else:
                out.append(r"\|" if pattern[at] == "|" else pattern[at])
                at += 1
        self._add("".join(out), at)


_GONE = str.maketrans("", "", "URu")


def _escaped(escape: re.Match[str]) -> str:
    if escape.re is _NUMBERED:
        return rf"\U{int(escape[1], 16):08x}"
    return _BOUNDS.get(escape[0], escape[0])
