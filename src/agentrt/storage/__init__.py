"""The implementations of `agentrt.storing.Storage`: files, or memory. This module has the public names.

`checking` only works on files, and is imported separately.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigurationError
from ..specs import Durability
from ..specs.given import converted
from ..storing import Storage
from .disk import sync_directory, sync_file_system
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
    "sync_directory",
    "sync_file_system",
]


def open_storage(
    given: Path | str | Storage | None = None,
    durability: Durability = Durability.COMMIT,
    probe: Probe = lambda point: None,
    *,
    lazy: bool = False,
) -> Storage:
    """Return a storage, not yet entered: a directory (None: `default_store()`), "memory://", or the given storage.

    A `lazy` storage creates nothing before the first write. `durability` and `probe` apply to files only: other
    storages define themselves when they acknowledge. Raises `ConfigurationError` for an invalid name.
    """
    if isinstance(given, str) and "://" in given:
        if given != "memory://":
            raise ConfigurationError(f"no storage is known for {given!r}: give a directory, or 'memory://'")
        return MemoryStorage()
    if given is None or isinstance(given, str | Path) or not hasattr(given, "history"):
        root: Path = default_store() if given is None else converted(given, Path, "Runtime", "store")
        return FileStore(root, probe, durability, lazy=lazy)
    return given
