"""Log files: framing, commit, recovery, locks."""

from .store import FileStore, conversations, read_conversation

__all__ = ["FileStore", "conversations", "read_conversation"]
