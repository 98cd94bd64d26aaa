"""The memory: notes for later conversations, and where they are stored. Pure."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["project", "user"]

MEMORY_FILES = (".openhands/memory/MEMORY.md", ".agents/memory/MEMORY.md")
"""Paths below a workspace or a home directory; the first existing file is used."""

LONGEST = 6000
"""The most characters of a memory; its newest lines, at the end, are used."""


LONGEST_NOTE = 500
"""The most characters of a line that is added."""

KIND = "memories"
"""The shelf of owners' memories."""


def memory_name(owner: str, scope: Scope, workspace: str) -> str:
    """Return the name of the document of an owner's memory. It is kept in the store and not in the workspace, so that
    owners who share a workspace, or a server's home directory, do not share a memory.
    """
    whose = json.dumps([owner, scope, workspace if scope == "project" else ""])
    return sha256(whose.encode()).hexdigest()[:40]


def newest(text: str, longest: int = LONGEST) -> str:
    """Return the last lines of a text that fit; a note replaces the oldest lines if they do not."""
    text = text.strip()
    if len(text) <= longest:
        return text
    kept = text[-longest:]
    kept = kept.partition("\n")[2] or kept
    left_out = text[: len(text) - len(kept)].count("\n")
    return f"[{left_out} older lines are left out.]\n{kept}"


def kept_lines(text: str, longest: int = LONGEST) -> str:
    """Return the last lines of a text that fit, without the oldest lines."""
    lines = text.strip().splitlines()
    size = sum(len(line) + 1 for line in lines)
    while len(lines) > 1 and size > longest:
        size -= len(lines.pop(0)) + 1
    return "".join(f"{line}\n" for line in lines) if size <= longest else f"{lines[0][: longest - 1]}\n"
