"""Opens text files for tools, and makes the result of an edit."""

from __future__ import annotations

import os
import stat
from posixpath import normpath

from ...errors import ToolError
from ...protocols import Observation, ToolContext
from ...specs import TextContent
from .difference import diff
from .text_file import TextFile, text_file

MAX_FILE = 10 * 1024 * 1024
"""Maximum size of a file that is opened, in bytes."""


class FileEditorObservation(Observation, frozen=True, kw_only=True):
    """What an edit changed: the file before and after, and a unified diff, all without secrets.

    `undid` is the seq of the result whose edit was undone. `encoding` and `newline` are those of the file before.
    """

    path: str
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None
    diff: str = ""
    undid: int | None = None
    encoding: str = ""
    newline: str = ""


def place(path: str, context: ToolContext) -> str:
    """Return the absolute form of a path that is absolute or relative to the workspace. Raises `ToolError`."""
    if not path:
        raise ToolError("the path is empty")
    if "\0" in path:
        raise ToolError("a path cannot have a NUL character")
    return normpath(os.path.join(context.workspace.path, path))


def shown(text: str, context: ToolContext) -> str:
    """Return a text without secrets. Mask a text before it is numbered, cut or compared: that could split a secret."""
    return context.masked(text, by_line=True)


def bytes_of(path: str, context: ToolContext, most: int = MAX_FILE) -> bytes:
    """Return the bytes of a regular file. Raises `ToolError`, also if it has more than `most` bytes."""
    status = context.files.status(path)
    if status is None:
        raise ToolError(f"{path} does not exist: create it, or look for it in its directory")
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path} is a directory, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{path} is not a regular file: use the terminal on it")
    if status.st_size > most:
        raise ToolError(f"{path} is larger than {most} bytes: use the terminal on it")
    return context.files.read(path)


def opened(path: str, context: ToolContext) -> TextFile:
    """Return a text file. Raises `ToolError`."""
    return text_file(path, bytes_of(path, context))


def edited(
    path: str, old: str | None, new: str, said: str, undid: int | None = None, was: TextFile | None = None
) -> FileEditorObservation:
    """Return the result of an edit. The texts are without secrets; `old` is None if the file did not exist."""
    return FileEditorObservation(
        content=(TextContent(said),),
        path=path,
        prev_exist=old is not None,
        old_content=old,
        new_content=new,
        diff=diff(old or "", new, path),
        undid=undid,
        encoding="" if was is None else was.encoding,
        newline="" if was is None else was.newline,
    )
