"""`RemoteFiles`: the files of a workspace on a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import assert_never

import anyio
import msgspec

from ..errors import ServerUnreachable, WorkspaceError
from ..workspaces import FileChanges, FileDiff, FileEntry, FileList, GitChanges, GitDiff
from ..workspaces.asking import (
    AskChanges,
    AskDiff,
    AskFileChanges,
    AskFileDiff,
    Found,
    ListFiles,
    Question,
    ReadArchive,
    ReadFile,
    Source,
    WriteFile,
)
from .backoff import Backoff
from .transport import Cut, Transport, path_of, quoted


class RemoteFiles:
    """The files of a workspace, over REST; interrupted requests are retried.

    All methods raise the server's errors, `ServerUnreachable`, or a `WorkspaceError`.
    """

    def __init__(self, transport: Transport, name: str, base: str | None = None) -> None:
        """`name` is that of a conversation, or of what is at the path `base`."""
        self._transport, self._name = transport, name
        self._base = path_of(name) if base is None else base

    async def ask(self, question: Question) -> Found:
        """Return the reply to a question."""
        match question:
            case ListFiles(path=path, at=at):
                return msgspec.json.decode(await self._get(f"/files?path={quoted(path)}{_at(at)}"), type=FileList)
            case AskFileChanges(since=since, until=until):
                path = f"/checkpoints/changes?since={since}&until={until}"
                return msgspec.json.decode(await self._get(path), type=FileChanges)
            case AskFileDiff(path=path, since=since, until=until):
                path = f"/checkpoints/diff?since={since}&until={until}&path={quoted(path)}"
                return msgspec.json.decode(await self._get(path), type=FileDiff)
            case AskChanges(path=path):
                return msgspec.json.decode(await self._get(f"/git/changes?path={quoted(path)}"), type=GitChanges)
            case AskDiff(path=path):
                return msgspec.json.decode(await self._get(f"/git/diff?path={quoted(path)}"), type=GitDiff)
            case _:
                assert_never(question)

    async def read(self, wanted: ReadFile | ReadArchive) -> AsyncGenerator[bytes]:
        """Return bytes, in pieces; an interrupted file continues where it was, but not an archive, since it is made
        anew.
        """
        kind = "archive" if isinstance(wanted, ReadArchive) else "content"
        then = _at(wanted.at) if isinstance(wanted, ReadFile) else ""
        path = f"{self._base}/files/{kind}?path={quoted(wanted.path)}{then}"
        backoff, place, at, tag = Backoff(), self._transport.place, 0, None
        while True:
            begun = at
            try:
                async with self._transport.download(path, name=self._name, after=at, tag=tag) as answer:
                    if answer.begins != at or (at and answer.tag != tag):
                        raise WorkspaceError("file-changed", f"{wanted.path!r} was changed while it was read")
                    tag = answer.tag
                    async for piece in answer:
                        at += len(piece)
                        backoff.well(progress=True)
                        yield piece
                return
            except Cut as cut:
                if (at == begun and backoff.elapsed >= place.timeout) or (at and tag is None):
                    raise ServerUnreachable(place.url, cut.why) from cut
            await anyio.sleep(backoff.next())

    async def write(self, wanted: WriteFile, source: Source) -> FileEntry:
        """Replace a file with the content of a source, once all of it has arrived."""
        path = f"{self._base}/files/content?path={quoted(wanted.path)}"
        answer = await self._transport.upload(path, source, name=self._name)
        return msgspec.json.decode(answer, type=FileEntry)

    async def _get(self, path: str) -> bytes:
        return await self._transport.ask("GET", self._base + path, name=self._name)


def _at(seq: int | None) -> str:
    return "" if seq is None else f"&at={seq}"
