"""Reads the memory for a conversation that begins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from ..specs import AgentContext, WorkspaceSpec
from ..specs.context import Document
from ..specs.memory import KIND, LONGEST, MEMORY_FILES, Scope, memory_name, newest
from ..specs.skill import Origin
from ..storing import Shelf
from .text import Reader


def find_memory(root: Path, reader: Reader, origin: Origin) -> tuple[Document, ...]:
    """Return the memory file below a directory, or none; for a thread."""
    for name in MEMORY_FILES:
        path = root / name
        text = reader.read(path)
        if text is not None and text.strip():
            shown = newest(text)
            if len(text.strip()) > LONGEST:
                reader.tell(path, f"its last {LONGEST} of {len(text)} characters are shown")
            digest = reader.digests[str(path)]
            return (Document(name=f"{origin}: {name}", text=shown, path=str(path), digest=digest, origin=origin),)
    return ()


async def memories_of(
    owner: str, context: AgentContext, workspace: WorkspaceSpec, shelf: Shelf
) -> AsyncIterator[Document]:
    """Yield the memory for the conversations of an owner. Raises `ConfigurationError`."""
    scopes: dict[Scope, bool] = {"user": context.load_user_skills, "project": context.load_project_skills}
    for scope, wanted in scopes.items():
        held = await shelf.get(KIND, memory_name(owner, scope, workspace.path)) if wanted else None
        if held is not None and (text := held[0].decode("utf-8", "replace")).strip():
            yield Document(name=f"{scope}: memory", text=newest(text), origin=scope)
