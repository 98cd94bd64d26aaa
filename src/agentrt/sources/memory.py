"""MEMORY.md as it is read when a conversation begins; for a thread."""

from __future__ import annotations

from pathlib import Path

from ..specs.context import Document
from ..specs.memory import LONGEST, MEMORY_FILES, memory_file, newest
from ..specs.skill import Origin
from .text import Reader


def find_memory(root: Path, reader: Reader, origin: Origin, owner: str | None = None) -> tuple[Document, ...]:
    """The memory below a directory, none or one; of the conversations of an owner, that owner's."""
    for name in (memory_file(file, owner) for file in MEMORY_FILES):
        path = root / name
        text = reader.read(path)
        if text is not None and text.strip():
            shown = newest(text)
            if len(text.strip()) > LONGEST:
                reader.tell(path, f"its last {LONGEST} of {len(text)} characters are shown")
            digest = reader.digests[str(path)]
            return (Document(name=f"{origin}: {name}", text=shown, path=str(path), digest=digest, origin=origin),)
    return ()
