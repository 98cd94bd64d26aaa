"""Log files: framing, commit, recovery, locks."""

from .project_rules import change_project_rules, project_rules
from .store import FileStore, conversations, default_store, read_conversation

__all__ = ["FileStore", "change_project_rules", "conversations", "default_store", "project_rules", "read_conversation"]
