"""`read_file`: shows a file's text without line numbers, for models that know Gemini's tools."""

from __future__ import annotations

from io import StringIO
from itertools import islice
from typing import Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta

from ...errors import ToolError
from ...protocols import Observation, ToolContext
from ...specs import OnCrash, TextContent, WorkspaceSpec
from ...specs.effects import Effects
from ..clipping import clip
from ..declared import READS
from ..definition import Params, ToolType, file_key
from .documents import document_at
from .opened import opened, place, shown
from .viewing import image, is_image

MAX_LINES = 1000
"""Lines shown by one call if no limit is given."""

MAX_SHOWN = 30_000
"""Maximum number of characters of a file shown by one call."""


class ReadFileAction(msgspec.Struct, frozen=True):
    """Arguments of `read_file`."""

    file_path: Annotated[str, Meta(description="The file: an absolute path, or one from the workspace on.")]
    offset: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="Lines to skip at the beginning.")] = None
    limit: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Lines to read; default: 1000.")] = None


class ReadFileObservation(Observation, frozen=True, kw_only=True):
    """The first and last line shown, from 1, and the number of lines in the file."""

    file_path: str
    first: int = 0
    last: int = 0
    total_lines: int = 0


class ReadFile:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: ReadFileAction, context: ToolContext) -> ReadFileObservation:
        """Return the lines. Raises `ToolError` with what to do instead."""
        path = place(action.file_path, context)
        if (found := await document_at(path, context)) is not None:
            return ReadFileObservation(content=(found,), file_path=path)
        return await anyio.to_thread.run_sync(_read, path, action, context)

    async def aclose(self) -> None: ...


def _read(path: str, action: ReadFileAction, context: ToolContext) -> ReadFileObservation:
    if is_image(path):
        return ReadFileObservation(content=(image(path, context),), file_path=path)
    lines = list(StringIO(shown(opened(path, context).text, context)))
    begin = action.offset or 0
    if begin and begin >= len(lines):
        raise ToolError(f"offset {begin} is past the end of {path}, which has {len(lines)} lines")
    end, size = begin, 0
    for line in islice(lines, begin, begin + (action.limit or MAX_LINES)):
        size += len(line)
        if size > MAX_SHOWN and end > begin:
            break
        end += 1
    said = clip("".join(lines[begin:end]), MAX_SHOWN) or f"[{path} is empty]"
    if end < len(lines):
        said = said.removesuffix("\n") + f"\n[lines {begin + 1} to {end} of {len(lines)}: go on with offset {end}]"
    return ReadFileObservation(
        content=(TextContent(said),), file_path=path, first=begin + 1, last=end, total_lines=len(lines)
    )


def _touches(action: ReadFileAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return (file_key(action.file_path, workspace),)


def _effects(action: ReadFileAction, workspace: WorkspaceSpec) -> Effects:
    return Effects(reads=() if "\0" in action.file_path else (action.file_path,))


read_file = ToolType(
    name="read_file",
    description="Read a text file or an image. Of a long file the first lines are shown, and where to go on.",
    action=ReadFileAction,
    executor=ReadFile,
    annotations=READS,
    on_crash=OnCrash.RETRY,
    resources=_touches,
    effects=_effects,
    headline="{file_path}",
    aliases=("read", "view_file"),
    parts={"read": {}},
)
