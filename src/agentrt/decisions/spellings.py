"""The commands in a shell text as a person would write each alone, for rules that deny or ask. Pure.

By the words alone: what expansions, encodings and other programs make of a text is for the analyzer, not for a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import basename

LONGEST = 20_000
"""The number of characters of a text in which commands are looked for."""

_BETWEEN = re.compile(r"\$\(|[;&|\n(){}`]")
_INNER = re.compile(r"(?:\s-\w{0,8}c|\beval)\s+(?:'([^']*)'|\"([^\"]*)\")")
"""The text in quotes that a shell runs: `bash -c '...'` and `eval "..."`."""

_BEFORE = frozenset(
    [
        *("!", "do", "elif", "else", "if", "then", "until", "while"),
        *("builtin", "command", "eval", "exec", "time"),
        *("busybox", "doas", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "timeout", "xargs"),
    ]
)
"""Words before a command that leave it the same."""

_OF_BEFORE = re.compile(r"-\S*|[0-9.]+[smhd]?|[A-Za-z_]\w*=\S*")
"""Options of these words, their numbers, and variables that are set for a command."""


def commands_in(text: str) -> Iterator[str]:
    """Yield the commands in a shell text, each with single spaces, without what stands before it and without the
    directory of its program.
    """
    text = text[:LONGEST].replace("\\\n", " ")
    inner = (first or second for first, second in _INNER.findall(text))
    for part in (part for one in (text, *inner) for part in _BETWEEN.split(one)):
        words = part.split()
        while words and (words[0] in _BEFORE or _OF_BEFORE.fullmatch(words[0])):
            words = words[1:]
        if words:
            yield " ".join([basename(words[0].lstrip("\\")) or words[0], *words[1:]])
