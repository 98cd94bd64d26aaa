"""REST operations on the files of a conversation's workspace: list, read and write them, or get an archive."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import PurePosixPath
from typing import Any

import anyio.to_thread
from starlette.responses import Response, StreamingResponse

from ...errors import WorkspaceError
from ...sandboxes.beneath import Beneath
from ...sources.writings import may_instruct, note_writer
from ...workspaces import FileEntry, FileList
from ...workspaces.asking import Files, ReadArchive
from ...workspaces.local import LocalFiles
from ...workspaces.streaming import open_archive, open_file
from ...workspaces.there import MOST, FilesThere
from ..permissions import check, of_file
from ..principals import Scope
from ..routing import Answered, Call, Endpoint
from ..schemas import DirectoryQuery, FilePathQuery, FileQuery, PathQuery
from ..sending import FileBody, serve_file, shown_as
from .workspaces import workspace_of


async def list_files(call: Call[None, DirectoryQuery]) -> FileList:
    """Return the entries of a directory of the workspace, now or as they were after an event."""
    return await (await workspace_of(call, reading=True)).list_files(call.query.path, at=call.query.at)


async def read_file(call: Call[None, FileQuery]) -> Response:
    """Return the bytes of a file, now or as they were after an event. A Range header gets a part of it as it is now."""
    path, given = call.query.path, call.request.headers
    workspace = await workspace_of(call, reading=True)
    root = await workspace.directory()
    if call.query.at is not None or root is None:
        content = await workspace.read_file(path, at=call.query.at)
        shown = shown_as(PurePosixPath(path).name, "application/octet-stream")
        return Response(content, headers=shown)
    file, name = await open_file(Beneath(root), path), PurePosixPath(path).name
    return await serve_file(file, name, given.get("range"), given.get("if-range"), given.get("if-none-match"))


async def write_file(call: Call[None, FilePathQuery]) -> Answered:
    """Write a whole file: the body replaces it once all of it has arrived. Missing parent directories are made."""
    most, path, request = call.services.settings.max_upload, call.query.path, call.request
    if int(request.headers.get("content-length", "0")) > most:
        raise WorkspaceError("file-too-large", f"the limit is {most} bytes")
    workspace = await workspace_of(call)
    if (root := await workspace.directory()) is None:
        return await _written_there(call, await workspace.files(), await workspace.path(), most)
    real = await writable(call, root, path)
    entry, replaced = await written(call, LocalFiles(root), path, real, most, call.request.stream())
    return Answered(entry, 200 if replaced else 201)


async def _written_there(call: Call[Any, FilePathQuery], files: Files, root: str, most: int) -> Answered:
    """Write a file that only the place of a workspace has, where the links there lead."""
    assert isinstance(files, FilesThere)
    content = bytearray()
    async for piece in call.request.stream():
        content += piece
        if len(content) > min(most, MOST):
            raise WorkspaceError("file-too-large", f"the limit is {min(most, MOST)} bytes")

    inner = await files.leads_to(call.query.path)  # once all has arrived: a link could come meanwhile
    real = os.path.join(root, inner)
    check(call.principal, of_file(inner, real, None))
    there = await files.exists(inner)
    by, services = call.principal.owner, call.services
    if by is not None and may_instruct(real):
        async with services.hosting.placing:
            await note_writer(services.runtime.store.shelf, real, by)
    return Answered(await files.write_at(inner, bytes(content)), 200 if there else 201)


async def writable(call: Call[Any, Any], root: str, path: str) -> str:
    """Return where a path below `root` leads. Raises `WorkspaceError`, and `Refusal` if it may not be written."""
    leads_to = await anyio.to_thread.run_sync(Beneath(root).leads_to, path)
    real = os.path.join(await anyio.to_thread.run_sync(os.path.realpath, root), leads_to)
    check(call.principal, of_file(leads_to, real, call.services.runtime.home))
    return real


async def written(
    call: Call[Any, Any], files: LocalFiles, path: str, real: str, most: int, given: AsyncIterator[bytes]
) -> tuple[FileEntry, bool]:
    """Write a file with what is `given`, and note who wrote it, if it may instruct agents, before anyone reads it."""
    by, services = call.principal.owner, call.services
    if by is None or not may_instruct(real):
        return await files.store(path, given, most)

    @asynccontextmanager
    async def placing() -> AsyncIterator[None]:
        async with services.hosting.placing:  # so that the last note is about the last content
            await note_writer(services.runtime.store.shelf, real, by)
            yield

    return await files.store(path, given, most, placing())


async def archive_files(call: Call[None, PathQuery]) -> Response:
    """Return a directory of the workspace as a zip archive, made while it is sent; links are left out."""
    path, workspace = call.query.path, await workspace_of(call, reading=True)
    name = f"{PurePosixPath(path).name or call.request.path_params.get('id', 'workspace')}.zip"
    if (root := await workspace.directory()) is None:
        made = (await workspace.files()).read(ReadArchive(path))
        first = await anext(made)  # what cannot be done is told before the answer begins
        return StreamingResponse(_after(first, made), headers=shown_as(name, "application/zip"))
    file = await open_archive(Beneath(root), path)
    return FileBody(file, None, 200, shown_as(name, "application/zip"))


async def _after(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


_GROUP = "workspace"
_BASE = "/conversations/{id}/files"

ENDPOINTS = (
    Endpoint(
        "GET",
        _BASE,
        list_files,
        Scope.OBSERVE,
        "List a directory",
        query=DirectoryQuery,
        reply=FileList,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/content",
        read_file,
        Scope.OBSERVE,
        "Read a file",
        query=FileQuery,
        also=(206, 304),
        media_type=None,
        group=_GROUP,
        headers=("Range",),
    ),
    Endpoint(
        "PUT",
        f"{_BASE}/content",
        write_file,
        Scope.STEER,
        "Write a file",
        query=FilePathQuery,
        reply=FileEntry,
        status=201,
        also=(200,),
        upload="application/octet-stream",
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/archive",
        archive_files,
        Scope.OBSERVE,
        "A directory as a zip archive",
        query=PathQuery,
        media_type="application/zip",
        group=_GROUP,
    ),
)
