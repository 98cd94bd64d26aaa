"""MEMORY.md: what was noted for later conversations; for a thread."""

from __future__ import annotations

from pathlib import Path

from ..specs.context import Document
from ..specs.skill import Origin
from .text import Reader

FILES = (".agents/memory/MEMORY.md", ".openhands/memory/MEMORY.md")
"""Below a workspace or a home; the first one that is there counts."""

LONGEST = 6000
"""Characters that are shown: the newest lines, which stand at the end."""


def find_memory(root: Path, reader: Reader, origin: Origin) -> tuple[Document, ...]:
    """The memory below a directory, none or one."""
    for name in FILES:
        path = root / name
        text = reader.read(path)
        if text is not None and text.strip():
            shown = newest(text)
            if len(text.strip()) > LONGEST:
                reader.tell(path, f"its last {LONGEST} of {len(text)} characters are shown")
            digest = reader.digests[str(path)]
            return (Document(name=f"{origin}: {name}", text=shown, path=str(path), digest=digest, origin=origin),)
    return ()


def newest(text: str, longest: int = LONGEST) -> str:
    """The last lines of a text that fit; the oldest are left out, and that is said."""
    text = text.strip()
    if len(text) <= longest:
        return text
    kept = text[-longest:]
    kept = kept.partition("\n")[2] or kept
    left_out = text[: len(text) - len(kept)].count("\n")
    return f"[{left_out} older lines are left out.]\n{kept}"
