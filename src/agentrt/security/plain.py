"""`plainly_read`: what a command reads that does nothing else, as anybody sees at once.

It is for a machine that can confine nothing: every other command is asked about there. Pure.
"""

from __future__ import annotations

import re
import shlex

from ..specs.effects import Effects

READING: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("basename", "cat", "cmp", "comm", "cut", "diff", "dirname", "du", "df", "echo", "false"), ()),
    **dict.fromkeys(("egrep", "fgrep", "grep", "head", "id", "ls", "md5sum", "nl", "printf", "pwd", "readlink"), ()),
    **dict.fromkeys(
        ("realpath", "sha256sum", "sleep", "stat", "tail", "test", "tr", "true", "type", "uname", "wc"), ()
    ),
    **dict.fromkeys(("which", "whoami"), ()),
    "printf": ("-v",),
    "find": ("-delete", "-exec", "-fls", "-fprint", "-ok"),
    "rg": ("--hostname-bin", "--pre"),
    "sort": ("--compress-program", "--files0-from", "--output", "-o"),
    "tree": ("-o",),
}
"""Programs that only read, each with the beginnings of its options that do something else."""

_SPECIAL = re.compile(r"[$`<>(){}\\!#\r\0]|(?<!&)&(?!&)")
"""Matches what the shell expands, redirects, groups or runs in the background."""

_BETWEEN = re.compile(r"&&|\|\||[|;]+")
_CLUSTER = re.compile(r"-[A-Za-z]+")


def plainly_read(effects: Effects) -> tuple[str, ...] | None:
    """Return the words of all that a call runs which may be paths, as written; None if that may do more than read."""
    found = list[str]()
    for source in effects.sources:
        if source.typed or source.language != "shell" or _SPECIAL.search(source.text):
            return None
        for line in source.text.split("\n"):
            if (words := _words_of(line)) is None:
                return None
            found += words
    return tuple(found)


def _words_of(line: str) -> list[str] | None:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return None
    command, found = list[str](), list[str]()
    for word in [*words, ";"]:
        if not _BETWEEN.fullmatch(word):
            command.append(word)
        elif command:
            if not _is_reading(*command):
                return None
            found += (word for word in command[1:] if not word.startswith("-"))
            command.clear()
    return found


def _is_reading(program: str, *words: str) -> bool:
    refused = READING.get(program)
    if refused is None:
        return False
    letters = {option[1] for option in refused if len(option) == 2}
    for word in words:
        if word.startswith("-") and ("/" in word or "~" in word):
            return False  # a path in an option
        if (refused and word.startswith(refused)) or (_CLUSTER.fullmatch(word) and letters & set(word)):
            return False
    return True
