"""The memory: what is noted for later conversations, and where. Pure."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["project", "user"]

MEMORY_FILES = (".openhands/memory/MEMORY.md", ".agents/memory/MEMORY.md")
"""Below a workspace or a home; the first one that is there counts."""

LONGEST = 6000
"""Characters of a memory: its newest lines, which stand at the end."""


LONGEST_NOTE = 500
"""Characters of one line that is added."""

KIND = "memories"
"""The shelf of the memories of owners."""


def memory_name(owner: str, scope: Scope, workspace: str) -> str:
    """The document of an owner's memory. It is kept with the store and not in the workspace: those who share one, or a
    server's home directory, share no memory.
    """
    whose = json.dumps([owner, scope, workspace if scope == "project" else ""])
    return sha256(whose.encode()).hexdigest()[:40]


def newest(text: str, longest: int = LONGEST) -> str:
    """The last lines of a text that fit; the oldest are left out, and that is said."""
    text = text.strip()
    if len(text) <= longest:
        return text
    kept = text[-longest:]
    kept = kept.partition("\n")[2] or kept
    left_out = text[: len(text) - len(kept)].count("\n")
    return f"[{left_out} older lines are left out.]\n{kept}"


def kept_lines(text: str, longest: int = LONGEST) -> str:
    """The last lines of a text that fit: the oldest are dropped."""
    lines = text.strip().splitlines()
    size = sum(len(line) + 1 for line in lines)
    while len(lines) > 1 and size > longest:
        size -= len(lines.pop(0)) + 1
    return "".join(f"{line}\n" for line in lines) if size <= longest else f"{lines[0][: longest - 1]}\n"
