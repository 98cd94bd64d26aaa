"""`FilesThere`: the files of a workspace that only its place has."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from posixpath import dirname, join
from typing import TypeVar, assert_never

import anyio

from ..errors import ToolError, WorkspaceError
from ..placing import Place
from ..sandboxes.beneath import Beneath, parts_of
from ..sandboxes.entries import FileEntry, FileList, GitChanges, GitDiff, kind_of, printable
from ..sandboxes.mirror import PlaceMirror, TooMuch
from ..sandboxes.programs import Printed, printed
from .asking import (
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
from .git import CHANGES, OUTPUT, SECONDS, changed, diff_words, status_words
from .kept_files import Earlier, KeptFiles
from .streaming import PIECE, close, open_archive, pieces

LISTED = 1_000
"""Maximum number of entries listed of a directory: each is asked for."""

AT_ONCE = 16
"""Number of entries that are asked for at once."""

MOST = 64 << 20
"""Maximum bytes of a file that is written: they are collected in memory."""

T = TypeVar("T")


class FilesThere:
    """The files below the directory of a workspace, as its place has them; a link that leads out of it is refused."""

    def __init__(self, place: Place, kept: KeptFiles | None = None) -> None:
        """`kept` has the earlier versions of the files."""
        self._place, self._root, self._earlier = place, place.workspace.path, Earlier(kept)

    async def ask(self, question: Question) -> Found:
        """Return the reply to a question. Raises `WorkspaceError`."""
        match question:
            case ListFiles(at=int()) | AskFileChanges() | AskFileDiff():
                return await self._earlier.ask(question)
        await self._prepared()
        match question:
            case ListFiles(path=path):
                return await self._list(path)
            case AskChanges(path=path):
                return await self._changes(await self._inside(path))
            case AskDiff(path=path):
                return await self._diff(path)
            case _:
                assert_never(question)

    async def read(self, wanted: ReadFile | ReadArchive) -> AsyncGenerator[bytes]:
        """Yield bytes, in pieces. Raises `WorkspaceError`."""
        if isinstance(wanted, ReadArchive):
            async with aclosing(self._archived(wanted.path)) as made:
                async for piece in made:
                    yield piece
            return
        if wanted.at is not None:
            yield await self._earlier.read(wanted.path, wanted.at)
            return
        content = await _done(self._place.files.read(await self._inside(wanted.path)))
        for begin in range(0, len(content), PIECE):
            yield content[begin : begin + PIECE]

    async def _archived(self, path: str) -> AsyncGenerator[bytes]:
        """Yield an archive of a copy of a directory, made here."""
        mirror = PlaceMirror(self._place, root=await self._inside(path))
        try:
            try:
                await mirror.fetch()
            except ToolError as error:
                raise WorkspaceError(
                    "archive-too-large" if isinstance(error, TooMuch) else "file", str(error)
                ) from error
            file = await open_archive(Beneath(mirror.directory), "")
            try:
                async with aclosing(pieces(file)) as found:
                    async for piece in found:
                        yield piece
            finally:
                await close(file)
        finally:
            with anyio.CancelScope(shield=True):
                await mirror.close()

    async def leads_to(self, path: str) -> str:
        """Return where a file that is written lands, relative to the workspace. Raises `WorkspaceError`."""
        await self._prepared()
        root, real = await _done(self._place.files.real(self._root)), await self._leads_to(parts_of(path))
        within = next(one for one in (root, self._root) if real.startswith(f"{one.rstrip('/')}/"))
        return real[len(within) :].strip("/")

    async def exists(self, path: str) -> bool:
        """Return whether something is at a path. Raises `WorkspaceError`."""
        return await _done(self._place.files.status(join(self._root, *parts_of(path)))) is not None

    async def write(self, wanted: WriteFile, source: Source) -> FileEntry:
        """Replace a file with the bytes of a source, once all of them have arrived. Raises `WorkspaceError`."""
        content = bytearray()
        async for piece in source():
            content += piece
            if len(content) > MOST:
                raise WorkspaceError("file-too-large", f"the limit is {MOST} bytes")
        return await self.write_at(await self.leads_to(wanted.path), bytes(content))

    async def write_at(self, path: str, content: bytes) -> FileEntry:
        """Replace a file at a path in which no part is a link. Raises `WorkspaceError`."""
        parts = parts_of(path)
        path = join(self._root, *parts)
        try:
            await _done(self._place.files.write_itself(path, content))
        except WorkspaceError as error:
            if " leads to " in error.detail:  # a link that leads nowhere yet
                raise WorkspaceError("path-outside", "a link leads elsewhere") from error
            raise
        return await self._entry(parts[-1], "/".join(parts), path)

    async def _prepared(self) -> None:
        try:
            await self._place.prepare()
        except ToolError as error:
            raise WorkspaceError("file", str(error)) from error

    async def _list(self, path: str) -> FileList:
        inner, parts = await self._inside(path), parts_of(path)
        found = sorted(await _done(self._place.files.names(inner)), key=lambda one: (not one[1], one[0]))
        items = dict[str, FileEntry]()
        limit = anyio.Semaphore(AT_ONCE)

        async def look(name: str, is_link: bool) -> None:
            async with limit:
                items[name] = await self._entry(name, "/".join((*parts, name)), join(inner, name), is_link=is_link)

        async with anyio.create_task_group() as tasks:
            for name, _, is_link in found[:LISTED]:
                tasks.start_soon(look, name, is_link)
        shown = tuple(items[name] for name, _, _ in found[:LISTED])
        return FileList(path=path, items=shown, truncated=len(found) > LISTED)

    async def _entry(self, name: str, path: str, inner: str, *, is_link: bool = False) -> FileEntry:
        status = None
        with suppress(WorkspaceError):  # such as a link in a circle
            status = await _done(self._place.files.status(inner))
        mode, size, time = (0, 0, 0.0) if status is None else (status.st_mode, status.st_size, status.st_mtime)
        kind = "link" if is_link else kind_of(mode)  # 0: it has gone meanwhile
        return FileEntry(
            name=printable(name),
            path=printable(path),
            type=kind,
            size=size if kind == "file" else 0,
            modified=datetime.fromtimestamp(time, UTC),
        )

    async def _changes(self, directory: str) -> GitChanges:
        head = await self._git(directory, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        branch = await self._git(directory, "symbolic-ref", "--short", "--quiet", "HEAD", check=False)
        said = await self._git(directory, *status_words())
        found = list(changed(said.output))
        return GitChanges(
            head=head.output.decode().strip() or None,
            branch=branch.output.decode("utf-8", "replace").strip() or None,
            items=tuple(found[:CHANGES]),
            truncated=said.cut or len(found) > CHANGES,
        )

    async def _diff(self, path: str) -> GitDiff:
        parts = parts_of(path)
        for at in range(len(parts), -1, -1):
            inner = join(self._root, *parts[:at])
            if await _done(self._place.files.status(join(inner, ".git"))) is not None:
                inner = await self._checked(inner)
                words = ["sh", "-c", _DIFF, "/".join(parts[at:]) or ".", *diff_words()]
                said = await self._said(inner, words)
                return GitDiff(diff=said.output.decode("utf-8", "replace"), truncated=said.cut)
        raise WorkspaceError("git-missing", "neither the directory nor one above it, in the workspace, is one")

    async def _git(self, directory: str, *words: str, check: bool = True) -> Printed:
        """Return what git says there: it acts with the rights of the workspace's own programs, and none of this one."""
        return await self._said(directory, ["git", *words], check=check)

    async def _said(self, directory: str, command: list[str], *, check: bool = True) -> Printed:
        root = await _done(self._place.files.real(self._root))
        variables = {"GIT_CEILING_DIRECTORIES": dirname(root), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        try:
            said = await printed(
                self._place, command, cwd=directory, environment=variables, seconds=SECONDS, most=OUTPUT
            )
        except FileNotFoundError as error:
            raise WorkspaceError("git-not-installed", "install it in the workspace's place") from error
        except TimeoutError as error:
            raise WorkspaceError("git-timeout", f"no answer within {SECONDS:g} s") from error
        except (OSError, ToolError) as error:
            raise WorkspaceError("git-failed", str(error)) from error
        if check and said.code and not said.cut:
            detail = said.errors.decode("utf-8", "replace").strip()
            missing = "not a git repository" in detail
            raise WorkspaceError("git-missing" if missing else "git-failed", detail.split("\n")[0])
        return said

    async def _inside(self, path: str) -> str:
        """Return where a path leads, which exists."""
        return await self._checked(join(self._root, *parts_of(path)))

    async def _leads_to(self, parts: Sequence[str]) -> str:
        """Return the path that is written for a file that may be new: its directory may not lead out either."""
        for at in range(len(parts), 0, -1):
            path = join(self._root, *parts[:at])
            if await _done(self._place.files.status(path)) is not None:
                return join(await self._checked(path), *parts[at:])
        return join(self._root, *parts)

    async def _checked(self, path: str) -> str:
        root, real = [await _done(self._place.files.real(one)) for one in (self._root, path)]
        if real != root and not real.startswith(f"{root.rstrip('/')}/"):
            raise WorkspaceError("path-outside", "a link leads out of it")
        return real


_DIFF = """\
path=$0
index=$(mktemp) || exit 1
trap 'rm -f "$index" "$index.lock"' EXIT
cp -p "$(git rev-parse --git-path index)" "$index" 2>/dev/null || rm -f "$index"
export GIT_INDEX_FILE="$index"
git add --intent-to-add -- "$path" 2>/dev/null
base=$(git rev-parse --verify --quiet 'HEAD^{commit}') || base=$(git hash-object -t tree /dev/null)
git "$@" "$base" -- "$path"
"""
"""For sh: a diff with new files; the repository's own index stays as it is."""


async def _done(act: Awaitable[T]) -> T:
    try:
        return await act
    except ToolError as error:
        text = str(error)
        code = next((code for end, code in _CODES if text.endswith(end)), "file")
        raise WorkspaceError(code, text) from error


_CODES = (
    (os.strerror(2), "file-missing"),
    (os.strerror(13), "file-permission"),
    (os.strerror(20), "not-a-directory"),
    (os.strerror(21), "not-a-file"),
    (os.strerror(28), "disk-full"),
)
"""The codes of the errors of a place, by the words of the system."""
