"""`file_editor`: view, create and edit text files."""

from __future__ import annotations

import base64
import mimetypes
import os
import tempfile
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import anyio.to_thread
import msgspec
from msgspec import Meta

from ..errors import ToolError
from ..protocols import Observation, ToolContext
from ..specs import Content, ImageContent, OnCrash, TextContent, ToolAnnotations, Workspace
from .clipping import clip
from .definition import Params, ToolType, file_key
from .edits import diff, insert_after, replace_once, snippet, view_lines

if TYPE_CHECKING:
    from charset_normalizer.models import CharsetMatch

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
        self._undo: dict[Path, deque[_File | None]] = {}

    async def __call__(self, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        """Do one command. Raises `ToolError` with what to do instead."""
        return await anyio.to_thread.run_sync(self._do, action, context)

    async def aclose(self) -> None:
        """Forget the edits."""
        self._undo.clear()

    def _do(self, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        path = Path(action.path)
        if not path.is_absolute():
            raise ToolError(f"{action.path!r} is not an absolute path: did you mean {context.workspace.path}/{path}?")
        if "\0" in action.path:
            raise ToolError("path has a NUL character: no file has")
        try:
            match action.command:
                case "view":
                    return _view(path, action, context)
                case "create":
                    return self._create(path, action, context)
                case "str_replace" | "insert":
                    return self._edit(path, action, context)
                case "undo_edit":
                    return self._take_back(path, context)
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}") from error

    def _create(self, path: Path, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        if action.file_text is None:
            raise ToolError("create needs file_text")
        if path.exists():
            raise ToolError(f"{path} exists already: edit it with str_replace, or choose another name")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(path, None, _File(action.file_text))
        return _edited(path, None, _shown(action.file_text, context), f"Created {path}.")

    def _edit(self, path: Path, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        if action.new_str is None and action.command == "insert":
            raise ToolError("insert needs new_str")
        old = _read(path)
        new_str = old.typed(action.new_str or "")
        if action.command == "str_replace":
            if action.old_str is None:
                raise ToolError("str_replace needs old_str")
            text, line = replace_once(old.text, old.typed(action.old_str), new_str, str(path))
        else:
            if action.insert_line is None:
                raise ToolError("insert needs insert_line")
            text, line = insert_after(old.text, action.insert_line, new_str), action.insert_line + 1
        self._write(path, old, msgspec.structs.replace(old, text=text))
        before, after = _shown(old.text, context), _shown(text, context)
        shown = clip(snippet(after, line, new_str.count("\n") + 1), MAX_SHOWN)
        return _edited(path, before, after, f"Edited {path}. Around the change:\n{shown}")

    def _take_back(self, path: Path, context: ToolContext) -> FileEditorObservation:
        history = self._undo.get(path)
        if not history:
            raise ToolError(f"no edit of {path} to take back (edits are remembered while the conversation stays open)")
        now = _shown(_read(path).text, context)
        before = history.pop()
        if before is None:
            path.unlink()
            return _edited(path, now, "", f"Took back the creation of {path}: it is gone.")
        _replace_file(path, before)
        return _edited(path, now, _shown(before.text, context), f"Took back the last edit of {path}.")

    def _write(self, path: Path, old: _File | None, new: _File) -> None:
        _replace_file(path, new)
        self._undo.setdefault(path, deque(maxlen=UNDO)).append(old)


class _File(msgspec.Struct, frozen=True):
    """A file's text, with how it is stored."""

    text: str
    encoding: str = "utf-8"
    newline: str = "\n"

    def typed(self, text: str) -> str:
        """A text of the model with the newlines that `text` has."""
        return text.replace("\r\n", "\n") if self.newline == "\r\n" else text


def _shown(text: str, context: ToolContext) -> str:
    """A text as it may be seen: masked before it is numbered, cut or compared, which would part a secret."""
    return context.masked(text, by_line=True)


def _read(path: Path) -> _File:
    if path.is_dir():
        raise ToolError(f"{path} is a directory: only view works on it")
    if not path.exists():
        raise ToolError(f"{path} does not exist: create it, or look for it with view on its directory")
    if not path.is_file():
        raise ToolError(f"{path} is not a regular file: use the terminal on it")
    if path.stat().st_size > MAX_FILE:
        raise ToolError(f"{path} is larger than {MAX_FILE} bytes: use the terminal on it")
    data = path.read_bytes()
    if b"\0" in data[:8192]:
        raise ToolError(f"{path} is a binary file: use the terminal on it")
    try:
        text, encoding = data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        best = _guess(data)
        if best is None or str(best).encode(best.encoding, errors="replace") != data:
            raise ToolError(f"{path} is not text in any known encoding: use the terminal on it") from None
        text, encoding = str(best), best.encoding
    if 0 < text.count("\n") == text.count("\r\n"):
        return _File(text.replace("\r\n", "\n"), encoding, "\r\n")
    return _File(text, encoding)


def _guess(data: bytes) -> CharsetMatch | None:
    """The likeliest encoding: Western European when that can be, since a short text fits many."""
    from charset_normalizer import from_bytes  # loaded for the rare file that is not UTF-8

    return from_bytes(data, cp_isolation=["cp1252"]).best() or from_bytes(data).best()


def _replace_file(path: Path, file: _File) -> None:
    """Write the file whole or not at all, with the mode that it had."""
    try:
        data = file.text.replace("\n", file.newline).encode(file.encoding)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{path} is in {error.encoding}, which has no {error.object[error.start]!r}: convert it to UTF-8 first"
        ) from error
    path = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".agentrt-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mode = path.stat().st_mode if path.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _edited(path: Path, old: str | None, new: str, said: str) -> FileEditorObservation:
    return FileEditorObservation(
        content=(TextContent(said),),
        path=str(path),
        prev_exist=old is not None,
        old_content=old,
        new_content=new,
        diff=diff(old or "", new, str(path)),
    )


def _view(path: Path, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
    content: Content
    if path.is_dir():
        content = TextContent(clip(context.masked(_listing(path)), MAX_SHOWN))
    elif path.suffix.lower() in IMAGES and path.is_file():
        content = _image(path)
    else:
        shown = view_lines(_shown(_read(path).text, context), action.view_range)
        content = TextContent(clip(shown, MAX_SHOWN))
    return FileEditorObservation(content=(content,), path=str(path))


def _image(path: Path) -> ImageContent:
    if path.stat().st_size > MAX_FILE:
        raise ToolError(f"{path} is larger than {MAX_FILE} bytes")
    kind = mimetypes.guess_type(path.name)[0] or "image/png"
    return ImageContent(f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}")


def _listing(path: Path) -> str:
    """Two levels of a directory, hidden entries left out."""
    lines = [f"{path}/"]
    for child in _visible(path):
        lines.append(f"{child}/" if child.is_dir() else str(child))
        if child.is_dir() and not child.is_symlink():
            lines.extend(f"{below}/" if below.is_dir() else str(below) for below in _visible(child))
    return "\n".join(lines)


def _visible(path: Path) -> list[Path]:
    try:
        return sorted(child for child in path.iterdir() if not child.name.startswith("."))
    except OSError:
        return []


def _touches(action: FileEditorAction, workspace: Workspace) -> tuple[str, ...]:
    return (file_key(action.path, workspace),)


file_editor = ToolType(
    name="file_editor",
    description=(
        "View, create and edit text files by absolute path. `view` shows a file with line numbers, a directory two"
        " levels deep; `create` makes a new file; `str_replace` replaces a text that occurs exactly once; `insert`"
        " adds lines after a line; `undo_edit` takes the last edit of a file back. Beyond 16000 characters the middle"
        " is left out: view a range."
    ),
    action=FileEditorAction,
    executor=FileEditor,
    annotations=ToolAnnotations(title="File editor", open_world=False),
    on_crash=OnCrash.ASK,
    resources=_touches,
)
