"""The files of a conversation's workspace: list, read, write, and take all of them as an archive."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import anyio
import anyio.to_thread
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from ...storage.pages import read_created
from ..principals import Scope
from ..problems import refusal
from ..routing import Answered, Call, Endpoint
from ..schemas import FileEntry, FileList, FilePathQuery, PathQuery
from ..workspaces.archives import archive, measure
from ..workspaces.beneath import Beneath
from ..workspaces.sending import serve_file, shown_as

LISTED = 10_000
"""Entries of a directory that are listed."""

_WRITTEN = 1 << 20
"""Bytes of an upload that are in memory before they are written."""


async def workspace(call: Call[Any, Any]) -> str:
    """The path of the directory that the conversation works in; the log is there for one that sleeps."""
    conversation = await call.conversation()
    created = conversation.state.created
    if created is None:
        directory = call.services.runtime.store.directory(conversation.id)
        created = await anyio.to_thread.run_sync(read_created, directory)
    return created.workspace.path


async def list_files(call: Call[None, PathQuery]) -> FileList:
    """What is in a directory of the workspace."""
    tree, path = Beneath(await workspace(call)), call.query.path
    entries = await anyio.to_thread.run_sync(tree.list, path)
    return FileList(path=path, items=tuple(entries[:LISTED]), truncated=len(entries) > LISTED)


async def read_file(call: Call[None, FilePathQuery]) -> Response:
    """A file's bytes; with a Range header a part of them."""
    tree, path, given = Beneath(await workspace(call)), call.query.path, call.request.headers

    def opened() -> Response:
        file = tree.open(path)
        try:
            name = PurePosixPath(path).name
            return serve_file(file, name, given.get("range"), given.get("if-range"), given.get("if-none-match"))
        except BaseException:
            file.close()
            raise

    return await anyio.to_thread.run_sync(opened)


async def write_file(call: Call[None, FilePathQuery]) -> Answered:
    """Write a file whole: the body takes its place once all of it is there. Directories on the way are made."""
    most, path, request = call.services.settings.max_upload, call.query.path, call.request
    if int(request.headers.get("content-length", "0")) > most:
        raise _too_large(most)
    tree = Beneath(await workspace(call))
    replaced = await anyio.to_thread.run_sync(tree.exists, path)
    writing = tree.replacing(path)
    file = await anyio.to_thread.run_sync(writing.__enter__)
    try:
        size, parts, waiting = 0, list[bytes](), 0
        async for part in request.stream():
            size, waiting = size + len(part), waiting + len(part)
            if size > most:
                raise _too_large(most)
            parts.append(part)
            if waiting >= _WRITTEN:
                await anyio.to_thread.run_sync(file.write, b"".join(parts))
                parts, waiting = [], 0
        await anyio.to_thread.run_sync(file.write, b"".join(parts))
    except BaseException:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(writing.__exit__, *sys.exc_info())
        raise
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(writing.__exit__, None, None, None)
    entry = await anyio.to_thread.run_sync(tree.entry, path)
    return Answered(entry, 200 if replaced else 201)


def _too_large(most: int) -> Exception:
    return refusal(413, "The file is too large", f"at most {most} bytes are taken", "file-too-large")


async def archive_files(call: Call[None, PathQuery]) -> Response:
    """A directory of the workspace as a zip archive, made while it is sent; links are left out."""
    tree, path = Beneath(await workspace(call)), call.query.path
    await anyio.to_thread.run_sync(measure, tree, path)
    name = f"{PurePosixPath(path).name or call.named()}.zip"
    return _Archive(archive(tree, path), headers=shown_as(name, "application/zip"))


class _Archive(StreamingResponse):
    """Closes what makes the archive, whatever becomes of the client."""

    def __init__(self, made: Iterator[bytes], headers: dict[str, str]) -> None:
        self._made = made
        super().__init__(made, headers=headers)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._made.close)  # type: ignore[attr-defined]


_GROUP = "workspace"
_BASE = "/conversations/{id}/files"

ENDPOINTS = (
    Endpoint(
        "GET",
        _BASE,
        list_files,
        Scope.OBSERVE,
        "List a directory",
        query=PathQuery,
        reply=FileList,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/content",
        read_file,
        Scope.OBSERVE,
        "Read a file",
        query=FilePathQuery,
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
