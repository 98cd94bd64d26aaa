"""What keeps conversations, behind `agentrt.storing.Storage`: files, or memory. Here is all that others may use.

`checking` is about files by its nature, and stands beside it.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigurationError
from ..specs import Durability
from ..specs.given import converted
from ..storing import Storage
from .history import FileHistory
from .memory import MemoryStorage
from .names import default_store
from .shelf import Document
from .store import FileStore, conversations, read_conversation
from .writer import Probe

__all__ = [
    "Document",
    "FileHistory",
    "FileStore",
    "MemoryStorage",
    "Probe",
    "conversations",
    "default_store",
    "open_storage",
    "read_conversation",
]


def open_storage(
    given: Path | str | Storage | None = None,
    durability: Durability = Durability.COMMIT,
    probe: Probe = lambda point: None,
    *,
    lazy: bool = False,
) -> Storage:
    """A storage, not yet entered: of a directory (None: `default_store()`), of "memory://", or the one that is given.

    One that is `lazy` makes nothing before something is written. `durability` and `probe` are for files: other storages
    say themselves when they acknowledge. Raises `ConfigurationError` for what names no storage.
    """
    if isinstance(given, str) and "://" in given:
        if given != "memory://":
            raise ConfigurationError(f"no storage is known for {given!r}: give a directory, or 'memory://'")
        return MemoryStorage()
    if given is None or isinstance(given, str | Path) or not hasattr(given, "history"):
        root: Path = default_store() if given is None else converted(given, Path, "Runtime", "store")
        return FileStore(root, probe, durability, lazy=lazy)
    return given
