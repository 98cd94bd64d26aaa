"""The workspaces of conversations: their files, and what git says of them."""

from ..sandboxes.entries import FileChange, FileChanges, FileDiff, FileEntry, FileList, GitChange, GitChanges, GitDiff
from .given import workspace_of

__all__ = [
    "FileChange",
    "FileChanges",
    "FileDiff",
    "FileEntry",
    "FileList",
    "GitChange",
    "GitChanges",
    "GitDiff",
    "workspace_of",
]
