"""Views: the numbered lines of a text, an image, or a directory two levels deep."""

from __future__ import annotations

import base64
import mimetypes
import stat
from pathlib import PurePosixPath

from anyio.from_thread import check_cancelled

from ...errors import ToolError
from ...protocols import Files, ToolContext
from ...specs import Content, ImageContent, TextContent
from ..clipping import clip
from .edits import shown_lines
from .opened import MAX_FILE, opened, shown

MAX_SHOWN = 16_000
"""Maximum number of characters shown by one call."""

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"})


def view(path: str, view_range: list[int] | None, context: ToolContext) -> Content:
    """Return the view of a file or directory. Raises `ToolError`."""
    status = context.files.status(path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        return TextContent(_clipped_listing(context.masked(_listing(path, context.files)), path))
    if status is not None and stat.S_ISREG(status.st_mode) and is_image(path):
        return image(path, context)
    return TextContent(shown_lines(shown(opened(path, context).text, context), view_range, path, MAX_SHOWN))


def is_image(path: str) -> bool:
    """Return whether a path has the suffix of an image that a model can see."""
    return PurePosixPath(path).suffix.lower() in IMAGES


def image(path: str, context: ToolContext) -> ImageContent:
    """Return the image in a file. Raises `ToolError`."""
    status = context.files.status(path)
    if status is not None and status.st_size > MAX_FILE:
        raise ToolError(f"{path} is larger than {MAX_FILE} bytes")
    kind = mimetypes.guess_type(path)[0] or "image/png"
    return ImageContent(f"data:{kind};base64,{base64.b64encode(context.files.read(path)).decode()}")


def _listing(path: str, files: Files) -> str:
    """Return two levels of a directory; hidden entries are only counted."""
    lines, hidden = [f"{path.rstrip('/')}/"], 0
    entries, left_out = _visible(path, files)
    hidden += left_out
    for name, is_directory, is_link in entries:
        check_cancelled()
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
    """Return the entries of a directory that are not hidden, and the number of hidden ones. A directory that cannot be
    listed counts as empty.
    """
    try:
        found = files.names(path)
    except ToolError:
        return [], 0
    seen = [entry for entry in found if not entry[0].startswith(".")]
    return seen, len(found) - len(seen)
