"""A program that forks a process for each line it reads; each appends to the same conversations until it is killed."""

from __future__ import annotations

import os
import sys
from itertools import cycle
from pathlib import Path

import anyio
from msgspec.structs import replace

from agentrt.errors import ConversationMissing
from agentrt.events import MessageEvent
from agentrt.specs.content import text
from agentrt.storage import FileStore
from agentrt.storage.journal import FileJournal
from tests.storage.commits import append

SIZES = (10, 100, 5_000)
"""Of messages, in characters."""

DIED = "died"


def tell(*words: object) -> None:
    """Write a line in one write."""
    os.write(sys.stdout.fileno(), f"{' '.join(map(str, words))}\n".encode())


async def append_to(store: FileStore, name: str) -> None:
    """Append batches of one to three messages, and tell the last seq of each once it is acknowledged."""
    seq = 0

    def count(event: object) -> None:
        nonlocal seq
        seq += 1

    journal: FileJournal
    try:
        journal = await store.open(name, count)
    except ConversationMissing:
        journal = await store.create(name)
    for size, length in zip(cycle((1, 3, 1, 2)), cycle(SIZES), strict=False):
        message = MessageEvent(source="user", content=text("x" * length))
        batch = [replace(message, id=f"{name}-{seq + n}-{os.getpid()}", seq=seq + n) for n in range(1, size + 1)]
        await append(journal, batch)
        seq += size
        tell(name, seq)


async def append_to_all(root: Path, names: list[str]) -> None:
    """Append to all of them side by side, for ever."""
    async with FileStore(root) as store, anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(append_to, store, name)


def main(root: Path, names: list[str]) -> None:
    """Fork, tell the process's id, and when it has died; a process costs a few milliseconds so.

    It begins once its id is told: what it tells comes after that.
    """
    tell("ready")
    for _ in sys.stdin:
        told, telling = os.pipe()
        child = os.fork()
        if not child:
            os.close(telling)
            os.read(told, 1)
            anyio.run(append_to_all, root, names)
        os.close(told)
        tell("pid", child)
        os.close(telling)
        os.waitpid(child, 0)
        tell(DIED)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
