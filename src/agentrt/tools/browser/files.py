"""Files that a browser puts into the workspace or uploads from it. For a thread."""

from __future__ import annotations

import mimetypes
import re
from pathlib import PurePosixPath
from typing import TypedDict

from ...errors import ToolError
from ...protocols import ToolContext
from ..files.links import refuse_links

MOST_BYTES = 50 << 20
"""Maximum bytes of a download or an upload."""

DOWNLOADS = "downloads"
"""Directory of the workspace for downloads."""

_UNSAFE = re.compile(r"[^\w.() -]")


class Payload(TypedDict):
    """A file as Playwright takes it."""

    name: str
    mimeType: str
    buffer: bytes


def put_file(path: str, data: bytes, context: ToolContext) -> str:
    """Write bytes to a new file of the workspace, and return its path: a number is added to a name that is taken.

    Raises `ToolError`, also for a link in the path: a page names its downloads but must not choose their place.
    """
    wanted = PurePosixPath(context.workspace.path, path)
    number, place = 1, str(wanted)
    while context.files.status(place) is not None:
        number += 1
        place = str(wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}"))
    refuse_links(str(PurePosixPath(place).relative_to(context.workspace.path)), context)
    context.files.write(place, data)
    return place


def put_download(source: str, suggested: str, context: ToolContext) -> tuple[str, int]:
    """Put a download into the workspace, and return its path and its size in bytes. Raises `ToolError`."""
    with open(source, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ToolError(f"it has more than {MOST_BYTES >> 20} MiB")
    return put_file(f"{DOWNLOADS}/{safe_name(suggested)}", data, context), len(data)


def safe_name(suggested: str) -> str:
    """Return a safe file name, made from the one that a page suggests."""
    return _UNSAFE.sub("_", PurePosixPath(suggested.replace("\\", "/")).name)[:200].strip(". ") or "download"


def taken(path: str, context: ToolContext) -> Payload:
    """Return a file of the workspace, to be uploaded. Raises `ToolError`."""
    wanted = str(PurePosixPath(context.workspace.path, path))
    status = context.files.status(wanted)
    if status is None:
        raise ToolError(f"{wanted} does not exist")
    if status.st_size > MOST_BYTES:
        raise ToolError(f"{wanted} has more than {MOST_BYTES >> 20} MiB")
    kind = mimetypes.guess_type(wanted)[0] or "application/octet-stream"
    return Payload(name=PurePosixPath(wanted).name, mimeType=kind, buffer=context.files.read(wanted))
