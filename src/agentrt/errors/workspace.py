"""The error of a workspace's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from .base import AgentrtError


class WorkspaceError(AgentrtError):
    """Raised when a request about a workspace's files, or about git in it, fails; `code` is one of `REASONS`."""

    REASONS: ClassVar[Mapping[str, str]] = {
        "path": "no path",
        "path-outside": "outside of the workspace",
        "file": "the file cannot be reached",
        "file-missing": "no such file",
        "file-permission": "not allowed",
        "file-changed": "the file has changed",
        "file-too-large": "the file is too large",
        "not-a-file": "not a file",
        "not-a-directory": "not a directory",
        "archive-too-large": "the directory is too large",
        "disk-full": "the disk is full",
        "busy": "too many files are open",
        "elsewhere": "not on this machine",
        "not-open": "the workspace is not open",
        "command": "not a command",
        "command-missing": "no such command",
        "too-many-commands": "too many commands run",
        "git-missing": "no repository",
        "git-no-commit": "no such commit",
        "git-not-installed": "no git",
        "git-too-large": "the repository is too large",
        "git-timeout": "git took too long",
        "too-many-files": "there are too many files to keep them",
        "no-checkpoint": "the files were not kept",
        "git-failed": "git failed",
    }

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{self.REASONS[code]}: {detail}")
