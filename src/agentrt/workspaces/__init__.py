"""Where conversations work: the workspace that was given, its files, and what git says of it."""

from .entries import FileChange, FileChanges, FileDiff, FileEntry, FileList, GitChange, GitChanges, GitDiff
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
