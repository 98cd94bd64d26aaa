"""The input history, kept in the store's directory for later chats, without keys and secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from .pastes import unfolded

NAME = "chat_history.jsonl"

MOST = 1_000
"""Maximum number of entries."""

LONGEST = 10_000
"""Maximum number of characters of an entry; a longer one is not kept."""

_KEYS = re.compile(
    r"""
    \b(?:sk|pk|rk)[-_][\w-]{16,}            # OpenAI, Anthropic, Stripe
    | \bgh[pousr]_\w{20,} | \bgithub_pat_\w{20,} | \bglpat-[\w-]{16,} | \bhf_\w{20,} | \bnpm_\w{20,}
    | \bxox[a-z]-[\w-]{10,} | \bAKIA[0-9A-Z]{16}\b | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,}
    | (?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.  # a JSON Web Token
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | \bbearer\s+[\w.~+/-]{16,}
    | (?:api[_-]?key|secret|token|passw(?:or)?d|passphrase)["']?\s*(?:[=:]|\bis\b)\s*["']?[^\s"']{6,}
    | ://[^\s/:@]+:[^\s/@]+@                 # a password in an address
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the file: what the prompt showed, and the long pasted texts in it, by their marks."""

    text: str
    pasted: dict[str, str] = {}

    @property
    def whole(self) -> str:
        """The text that was sent."""
        return unfolded(self.text, self.pasted)


def may_be_kept(text: str) -> bool:
    """Return whether an entry is short enough and contains nothing that looks like a key or a password. Pure."""
    return 0 < len(text) <= LONGEST and _KEYS.search(text) is None


class Kept:
    """The entries of a file, oldest first; without a file they are only in memory.

    `hidden` removes known secrets from an entry. Errors of reading or writing are ignored: a chat does not fail because
    of them.
    """

    def __init__(self, path: Path | None, hidden: Callable[[str], str] = lambda text: text) -> None:
        self._path, self._hidden = path, hidden

    def read(self) -> list[Entry]:
        """Return the last `MOST` entries; a file that has many more is shortened."""
        if self._path is None:
            return []
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return []
        entries = list(_decoded(lines[-MOST:]))
        if len(lines) > 2 * MOST:
            self._replace(entries)
        return entries

    def add(self, entry: Entry) -> None:
        """Keep an entry, unless it may contain a key."""
        if self._path is None or not may_be_kept(entry.whole) or self._hidden(entry.whole) != entry.whole:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(file, msgspec.json.encode(entry) + b"\n")
            finally:
                os.close(file)
        except OSError:
            return

    def _replace(self, entries: Iterable[Entry]) -> None:
        assert self._path is not None
        made = self._path.with_suffix(f".{os.getpid()}")
        try:
            made.touch(0o600)
            made.write_bytes(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
            made.replace(self._path)
        except OSError:
            return


def _decoded(lines: Iterable[bytes]) -> Iterable[Entry]:
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Entry)
        except (msgspec.MsgspecError, UnicodeDecodeError):  # a line that was cut by a crash
            continue
