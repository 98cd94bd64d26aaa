"""Log files: framing, commit, recovery, locks."""

from .store import FileStore, conversations, default_store, read_conversation

__all__ = ["FileStore", "conversations", "default_store", "read_conversation"]
