"""`plainly_read`: what a command reads that does nothing else, as anybody sees at once.

It is for a machine that can confine nothing: every other command is asked about there. Programs and their options are
known by lists of what only reads; what is on neither list may do more. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..specs.effects import Effects, Source

READING: dict[str, str] = {
    "basename": "a",
    "cat": "AbeEnstTv",
    "cmp": "bls",
    "comm": "123",
    "cut": "bcdfs",
    "df": "hkT",
    "diff": "bBiqsuUwy",
    "dirname": "",
    "du": "abchkms",
    "echo": "enE",
    "egrep": "cehiHlLnoqrsvwxABCEFm",
    "false": "",
    "fgrep": "cehiHlLnoqrsvwxABCm",
    "grep": "cehiHlLnoqrsvwxABCEFPm",
    "head": "cnqv",
    "id": "gGnu",
    "ls": "aAdFghiklnrsStuRX1",
    "md5sum": "b",
    "nl": "abnsvw",
    "pwd": "LP",
    "readlink": "fn",
    "realpath": "eqs",
    "rg": "cehiFlnovwxABCtgNSUm",
    "sha256sum": "b",
    "sleep": "",
    "sort": "bdfghinkrtuV",
    "stat": "",
    "tac": "",
    "tail": "cnqv",
    "tr": "cCdst",
    "tree": "adfhL",
    "true": "",
    "type": "apt",
    "uname": "amnrsv",
    "wc": "clLmw",
    "which": "a",
    "whoami": "",
}
"""Programs that only read, each with the letters of its options that do, too."""

_LONG = (
    "--all --brief --color --count --exclude --exclude-dir --files --files-with-matches --glob"
    " --human-readable --ignore-case --include --invert-match --line-number --lines --max-count --max-depth"
    " --no-heading --recursive --reverse --sort --type --unified --version"
)
LONG = frozenset(_LONG.split())
"""Long options of these programs that only read, written out; a value after "=" stands for no file."""

_FINDING = (
    "-a -and -empty -iname -ipath -maxdepth -mindepth -mtime -name -newer -not -o -or -path -print -regex -size -type"
)
FINDING = frozenset(_FINDING.split())
"""Words of find(1) that only read."""

STOPS = frozenset(("C-c", "C-d"))
"""Keys that end what runs."""

_SHORT = re.compile(r"-([A-Za-z0-9]*?)(\d*)")
_HARMLESS_REDIRECTION = re.compile(r"(?<![^\s;|&])(?:2>&1|[12]?>\s*/dev/null|&>\s*/dev/null)(?=[\s;|&]|$)")


class Word(NamedTuple):
    """A word of a command: its text without quotes, and whether the shell replaces it by the files that it fits."""

    text: str
    is_pattern: bool = False


def plainly_read(effects: Effects) -> tuple[Word, ...] | None:
    """Return the words of all that a call runs which may be paths; None if that may do more than read."""
    found = list[Word]()
    for source in effects.sources:
        if source.typed and source.text.strip() in STOPS:
            continue
        if (words := _read_by(source)) is None:
            return None
        found += words
    return tuple(found)


def _read_by(source: Source) -> list[Word] | None:
    if source.typed or source.language != "shell":
        return None
    found = list[Word]()
    try:
        commands = list(_commands(source.text))
    except _NotPlain:
        return None
    for program, *words in commands:
        if program.is_pattern or not _is_reading(program.text, words):
            return None
        found += (word for word in words if not word.text.startswith("-"))
    return found


class _NotPlain(Exception):
    """Raised for shell text that is more than simple commands."""


def _commands(text: str) -> Iterator[list[Word]]:
    """Yield the words of each simple command. Raises `_NotPlain`."""
    if "'" not in text and '"' not in text:
        text = _HARMLESS_REDIRECTION.sub("", text)
    command, at = list[Word](), 0
    while at < len(text):
        letter = text[at]
        if letter in " \t":
            at += 1
        elif letter in "\n;|":
            at += 2 if text.startswith("||", at) else 1
            if command:
                yield command
                command = []
        elif text.startswith("&&", at):
            at += 2
            if command:
                yield command
                command = []
        else:
            word, at = _word(text, at)
            command.append(word)
    if command:
        yield command


def _word(text: str, at: int) -> tuple[Word, int]:
    found, is_pattern = "", False
    while at < len(text) and text[at] not in " \t\n;|&":
        letter = text[at]
        if letter in "'\"":
            end = text.find(letter, at + 1)
            inner = text[at + 1 : end]
            if end < 0 or (letter == '"' and re.search(r"[$`\\!]", inner)):
                raise _NotPlain
            found, at = found + inner, end + 1
        elif letter.isalnum() or letter in "_-./,:=+@%^*?~" or letter > "\x7f":
            is_pattern |= letter in "*?"
            if letter == "~" and not found:
                raise _NotPlain
            found, at = found + letter, at + 1
        else:
            raise _NotPlain
    if at < len(text) and text[at] == "&" and not text.startswith("&&", at):
        raise _NotPlain
    return Word(found, is_pattern), at


def _is_reading(program: str, words: list[Word]) -> bool:
    if program == "find":
        return all(not word.text.startswith(("-", "(", ")", "!", ",")) or _is_finding(word) for word in words)
    letters = READING.get(program)
    return letters is not None and all(not word.text.startswith("-") or _is_known(word, letters) for word in words)


def _is_finding(word: Word) -> bool:
    return not word.is_pattern and word.text in FINDING


def _is_known(word: Word, letters: str) -> bool:
    if word.is_pattern:
        return False
    name, _, value = word.text.partition("=")
    if name.startswith("--"):
        return name in LONG and "/" not in value
    short = _SHORT.fullmatch(word.text)
    return short is not None and set(short[1]) <= set(letters)
