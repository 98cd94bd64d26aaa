"""`file_editor`: view, create and edit text files."""

from __future__ import annotations

import base64
import mimetypes
import stat
from collections import deque
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Annotated, Literal

import anyio.to_thread
import msgspec
from msgspec import Meta

from ..errors import ToolError
from ..protocols import Files, Observation, ToolContext
from ..specs import Content, ImageContent, OnCrash, Same, TextContent, ToolAnnotations, Workspace
from ..specs.effects import Effects, FileText
from .clipping import clip
from .definition import Params, ToolType, file_key
from .edits import Replaced, diff, insert_after, replace_once, shown_lines, snippet
from .text_file import TextFile, text_file

MAX_SHOWN = 16_000
"""Characters of a file that the model sees of one call."""

MAX_FILE = 10 * 1024 * 1024
"""Bytes of the largest file that is opened."""

UNDO = 10
"""Edits of a file that can be taken back."""

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"})


class FileEditorAction(msgspec.Struct, frozen=True):
    """Arguments of `file_editor`."""

    command: Annotated[
        Literal["view", "create", "str_replace", "insert", "undo_edit"], Meta(description="What to do with the file.")
    ]
    path: Annotated[str, Meta(description="The absolute path of the file, or with view of a directory.")]
    file_text: Annotated[str | None, Meta(description="With create: the whole text of the new file.")] = None
    old_str: Annotated[
        str | None, Meta(description="With str_replace: the text to replace; must occur exactly once.")
    ] = None
    new_str: Annotated[str | None, Meta(description="With str_replace and insert: the new text.")] = None
    insert_line: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="With insert: the line after which new_str goes; 0 is the top."),
    ] = None
    view_range: Annotated[list[int] | None, Meta(description="With view: [first, last] line; last -1 is the end.")] = (
        None
    )


class FileEditorObservation(Observation, frozen=True, kw_only=True):
    """What an edit changed: the file before and after, and the difference as a unified diff, all without secrets."""

    path: str
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None
    diff: str = ""


class FileEditor:
    """Edits the files of one conversation, and can take its edits back while the conversation is in memory."""

    def __init__(self, params: Params) -> None:
        self._undo: dict[str, deque[TextFile | None]] = {}

    async def __call__(self, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        """Do one command. Raises `ToolError` with what to do instead."""
        return await anyio.to_thread.run_sync(self._do, action, context)

    async def aclose(self) -> None:
        """Forget the edits."""
        self._undo.clear()

    def _do(self, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        if not action.path.startswith("/"):
            meant = f"{context.workspace.path}/{action.path}"
            raise ToolError(f"{action.path!r} is not an absolute path: did you mean {normpath(meant)}?")
        if "\0" in action.path:
            raise ToolError("path has a NUL character: no file has")
        path = str(PurePosixPath(action.path))
        match action.command:
            case "view":
                return _view(path, action, context)
            case "create":
                return self._create(path, action, context)
            case "str_replace" | "insert":
                return self._edit(path, action, context)
            case "undo_edit":
                return self._take_back(path, context)

    def _create(self, path: str, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        if action.file_text is None:
            raise ToolError("create needs file_text")
        if context.files.status(path) is not None:
            raise ToolError(f"{path} exists already: edit it with str_replace, or choose another name")
        self._write(path, None, TextFile(action.file_text), context)
        return _edited(path, None, _shown(action.file_text, context), f"Created {path}.")

    def _edit(self, path: str, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        if action.new_str is None and action.command == "insert":
            raise ToolError("insert needs new_str")
        old = _read(path, context)
        new_str = old.typed(action.new_str or "")
        if action.command == "str_replace":
            if action.old_str is None:
                raise ToolError("str_replace needs old_str")
            done = replace_once(old.text, old.typed(action.old_str), new_str, path)
        else:
            if action.insert_line is None:
                raise ToolError("insert needs insert_line")
            done = Replaced(insert_after(old.text, action.insert_line, new_str), action.insert_line + 1)
        self._write(path, old, msgspec.structs.replace(old, text=done.text), context)
        before, after = _shown(old.text, context), _shown(done.text, context)
        shown = clip(snippet(after, done.line, new_str.count("\n") + 1), MAX_SHOWN)
        return _edited(path, before, after, f"Edited {path}.{done.note} Around the change:\n{shown}")

    def _take_back(self, path: str, context: ToolContext) -> FileEditorObservation:
        history = self._undo.get(path)
        if not history:
            raise ToolError(f"no edit of {path} to take back (edits are remembered while the conversation stays open)")
        now = _shown(_read(path, context).text, context)
        before = history.pop()
        if before is None:
            context.files.remove(path)
            return _edited(path, now, "", f"Took back the creation of {path}: it is gone.")
        context.files.write(path, before.stored(path))
        return _edited(path, now, _shown(before.text, context), f"Took back the last edit of {path}.")

    def _write(self, path: str, old: TextFile | None, new: TextFile, context: ToolContext) -> None:
        context.files.write(path, new.stored(path))
        self._undo.setdefault(path, deque(maxlen=UNDO)).append(old)


def _shown(text: str, context: ToolContext) -> str:
    """A text as it may be seen: masked before it is numbered, cut or compared, which would part a secret."""
    return context.masked(text, by_line=True)


def _read(path: str, context: ToolContext) -> TextFile:
    status = context.files.status(path)
    if status is None:
        raise ToolError(f"{path} does not exist: create it, or look for it with view on its directory")
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path} is a directory: only view works on it")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{path} is not a regular file: use the terminal on it")
    if status.st_size > MAX_FILE:
        raise ToolError(f"{path} is larger than {MAX_FILE} bytes: use the terminal on it")
    return text_file(path, context.files.read(path))


def _edited(path: str, old: str | None, new: str, said: str) -> FileEditorObservation:
    return FileEditorObservation(
        content=(TextContent(said),),
        path=path,
        prev_exist=old is not None,
        old_content=old,
        new_content=new,
        diff=diff(old or "", new, path),
    )


def _view(path: str, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
    content: Content
    status = context.files.status(path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        content = TextContent(_clipped_listing(context.masked(_listing(path, context.files)), path))
    elif status is not None and stat.S_ISREG(status.st_mode) and PurePosixPath(path).suffix.lower() in IMAGES:
        content = _image(path, status.st_size, context.files)
    else:
        text = _shown(_read(path, context).text, context)
        content = TextContent(shown_lines(text, action.view_range, path, MAX_SHOWN))
    return FileEditorObservation(content=(content,), path=path)


def _image(path: str, size: int, files: Files) -> ImageContent:
    if size > MAX_FILE:
        raise ToolError(f"{path} is larger than {MAX_FILE} bytes")
    kind = mimetypes.guess_type(path)[0] or "image/png"
    return ImageContent(f"data:{kind};base64,{base64.b64encode(files.read(path)).decode()}")


def _listing(path: str, files: Files) -> str:
    """Two levels of a directory, hidden entries only counted."""
    lines, hidden = [f"{path.rstrip('/')}/"], 0
    entries, left_out = _visible(path, files)
    hidden += left_out
    for name, is_directory, is_link in entries:
        child = f"{path.rstrip('/')}/{name}"
        lines.append(f"{child}/" if is_directory else child)
        if is_directory and not is_link:
            below, left_out = _visible(child, files)
            hidden += left_out
            lines.extend(f"{child}/{inner}/" if deeper else f"{child}/{inner}" for inner, deeper, _ in below)
    if len(lines) == 1:
        lines.append("[it is empty]" if not hidden else "[nothing in it but what is hidden]")
    if hidden:
        entry = "1 hidden entry is" if hidden == 1 else f"{hidden} hidden entries are"
        lines.append(f"[{entry} not listed: `ls -A` in the terminal shows all]")
    return "\n".join(lines)


def _clipped_listing(listing: str, path: str) -> str:
    if len(listing) <= MAX_SHOWN:
        return listing
    note = f"\n[the list is cut: view a directory below {path}, or use the terminal]"
    return clip(listing, MAX_SHOWN - len(note)) + note


def _visible(path: str, files: Files) -> tuple[list[tuple[str, bool, bool]], int]:
    """What is in a directory but what is hidden, and how much that is."""
    try:
        found = files.names(path)
    except ToolError:
        return [], 0
    seen = [entry for entry in found if not entry[0].startswith(".")]
    return seen, len(found) - len(seen)


def _touches(action: FileEditorAction, workspace: Workspace) -> tuple[str, ...]:
    return (file_key(action.path, workspace),)


def _effects(action: FileEditorAction, workspace: Workspace) -> Effects:
    if not action.path.startswith("/") or "\0" in action.path:
        return Effects()  # it will be refused
    if action.command == "view":
        return Effects(reads=(action.path,))
    shown = () if action.command == "create" else (action.path,)  # around what was changed
    return Effects(reads=shown, writes=(FileText(action.path, action.file_text),))


_ALIASES = (
    "str_replace", "str_replace_editor", "str_replace_based_edit_tool",
    "edit_file", "editor", "edit", "text_editor",
)  # fmt: skip

file_editor = ToolType(
    name="file_editor",
    description=(
        "View, create and edit text files by absolute path. `view` shows a file with line numbers, a directory two"
        " levels deep; `create` makes a new file; `str_replace` replaces a text that occurs exactly once; `insert`"
        " adds lines after a line; `undo_edit` takes the last edit of a file back. Of more than 16000 characters a view"
        " shows the first lines, and says which range comes next."
    ),
    action=FileEditorAction,
    executor=FileEditor,
    annotations=ToolAnnotations(title="File editor", open_world=False),
    on_crash=OnCrash.ASK,
    resources=_touches,
    effects=_effects,
    same=Same("path", {"command": "view"}),
    headline="{command} {path}",
    aliases=_ALIASES,
    parts={"read": {"command": "view"}, "write": {"command": "create"}, "multiedit": {"command": "[!v]*"}},
)
