"""A program that appends to many journals at once, and notes each batch after it was acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from msgspec.structs import replace

from agentrt.events import MessageEvent
from agentrt.specs.content import text
from agentrt.storage import FileStore
from tests.storage.commits import append

JOURNALS = 24
BATCHES = 4
ACKNOWLEDGED = "acknowledged"
"""In the store's root: `journal seq` of each batch."""


async def append_to_all(root: Path, journals: int = JOURNALS) -> None:
    """One batch after the other in each journal, all journals side by side."""

    async def append_to(name: str) -> None:
        journal = await store.create(name)
        for seq in range(1, BATCHES + 1):
            await append(journal, [replace(message, seq=seq)])
            acknowledged.write(f"{name} {seq}\n".encode())

    message = MessageEvent(source="user", content=text("Go on."))
    with (root / ACKNOWLEDGED).open("ab", buffering=0) as acknowledged:
        async with FileStore(root) as store, anyio.create_task_group() as tasks:
            for number in range(journals):
                tasks.start_soon(append_to, f"journal-{number}")


if __name__ == "__main__":
    anyio.run(append_to_all, Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else JOURNALS)
