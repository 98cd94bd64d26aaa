"""Files of the workspace that a message names as `@path`, sent along with it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection

from ...conversation.workspace import WorkspaceHandle
from ...documents.kinds import image_type
from ...errors import WorkspaceError
from ...specs import Content, ImageContent, TextContent
from ...workspaces import FileEntry

MOST = 10
"""Maximum number of files in one message."""

TEXT_BYTES = 128 * 1024
"""Maximum number of bytes of a text file that are sent along; the agent reads the rest itself."""

IMAGE_BYTES = 5 * 1024 * 1024
"""Maximum size in bytes of an image that is sent along."""

ENTRIES = 200
"""Maximum number of directory entries that are sent along."""

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')


def mentions(text: str, servers: Collection[str] = ()) -> tuple[str, ...]:
    """Return the paths that a text names, once each, without closing punctuation; `@server:uri` is not a path. Pure."""
    found = []
    for match in _MENTION.finditer(text):
        path = match[1] or match[2].rstrip(".,;:!?)'\"")
        if path and path.partition(":")[0] not in servers:
            found.append(path.removeprefix("./").rstrip("/"))
    return tuple(dict.fromkeys(path for path in found if path))[:MOST]


def quoted(path: str) -> str:
    """Return a path as it is typed after the @."""
    return f'"{path}"' if re.search(r"\s", path) or path != path.rstrip(".,;:!?)'\"") else path


def as_content(path: str, data: bytes, size: int) -> Content | None:
    """Return a file as the model sees it, or None for a file that is not text. `data` are the first of its `size`
    bytes. Pure.
    """
    kind = image_type(data)
    if kind is not None:
        if size > IMAGE_BYTES:
            return None
        return ImageContent(f"data:{kind};base64,{b64encode(data).decode()}")
    try:
        text = data[:TEXT_BYTES].decode()
    except UnicodeDecodeError as error:
        if error.start < TEXT_BYTES - 4 or error.reason != "unexpected end of data":
            return None
        text = data[: error.start].decode()
    if "\0" in text:
        return None
    more = f"\n[cut: the file has {size:,} bytes]" if size > TEXT_BYTES else ""
    return TextContent(f'<file path="{path}">\n{text.removesuffix(chr(10))}{more}\n</file>')


async def attached(text: str, files: WorkspaceHandle, servers: Collection[str] = ()) -> tuple[list[Content], list[str]]:
    """Return a message's attachments, and those that could not be attached. A path that is not a file of the workspace
    stays plain text.
    """
    blocks: list[Content] = []
    problems: list[str] = []
    for path in mentions(text, servers):
        try:
            entry = await _entry(path, files)
            if entry is None:
                problems.append(f"no file {path}: nothing attached")
                continue
            block = await _read(entry, files)
        except WorkspaceError as error:
            problems.append(f"@{path} is not attached: {error}")
            continue
        if block is None:
            problems.append(f"@{path} is not attached: it is not text and no image that fits; the agent has its name")
        else:
            blocks.append(block)
    return blocks, problems


async def _entry(path: str, files: WorkspaceHandle) -> FileEntry | None:
    above, _, name = path.rpartition("/")
    try:
        found = await files.list_files(above)
    except WorkspaceError:
        return None
    return next((entry for entry in found.items if entry.name == name), None)


async def _read(entry: FileEntry, files: WorkspaceHandle) -> Content | None:
    if entry.type == "directory":
        found = (await files.list_files(entry.path)).items
        names = [one.name + ("/" if one.type == "directory" else "") for one in found]
        more = f"\n[{len(names) - ENTRIES} more]" if len(names) > ENTRIES else ""
        return TextContent(f'<directory path="{entry.path}">\n' + "\n".join(names[:ENTRIES]) + more + "\n</directory>")
    if entry.type != "file" or entry.size > 64 * IMAGE_BYTES:
        return None
    return as_content(entry.path, await files.read_file(entry.path), entry.size)
