"""`KeptFiles`: the files of a workspace as they were after an event, and the changes between two events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Literal

from ..decisions.file_history import By, FileHistory, Moment
from ..errors import WorkspaceError
from ..sandboxes.beneath import parts_of
from ..sandboxes.entries import FileChange, FileChanges, FileDiff, FileEntry, FileList, printable
from .asking import AskFileChanges, AskFileDiff, ListFiles
from .tree_listing import Stored
from .trees import Trees

LISTED = 10_000
"""Maximum number of entries or changes listed."""

_STATUS: dict[str, Literal["added", "modified", "deleted"]] = {"A": "added", "D": "deleted"}
_BACK: dict[str, Literal["added", "modified", "deleted"]] = {"A": "deleted", "D": "added"}
_TYPES: dict[str, Literal["directory", "link", "other"]] = {"04": "directory", "12": "link", "16": "other"}


class KeptFiles:
    """The kept files of one conversation. All methods raise `WorkspaceError`: `no-checkpoint` if none were kept.

    Files are kept before the first call that may change them; until then, nothing has changed between two events.
    """

    def __init__(self, trees: Trees, history: Callable[[], Awaitable[FileHistory]], *, keeps: bool = True) -> None:
        """`keeps`: whether the files of this conversation are kept at all."""
        self._trees, self._history, self._keeps = trees, history, keeps

    async def list(self, path: str, at: int) -> FileList:
        """Return the entries of a directory after an event; their times are that of the tree."""
        here = "/".join(parts_of(path))
        moment = _there((await self._history()).at(at), at)
        entries = [_entry(one, here, moment) for one in await self._trees.listing(moment.tree, here)]
        entries.sort(key=lambda entry: (entry.type != "directory", entry.name))
        return FileList(path=path, items=tuple(entries[:LISTED]), truncated=len(entries) > LISTED)

    async def read(self, path: str, at: int) -> bytes:
        """Return a file as it was after an event."""
        return await self._trees.read(_there((await self._history()).at(at), at).tree, "/".join(parts_of(path)))

    async def changes(self, since: int, until: int) -> FileChanges:
        """Return the files that differ between two events, and who changed them."""
        first, last = sorted((since, until))
        moments, words = await self._between(first, last), _STATUS if since <= until else _BACK
        if not moments:
            return FileChanges(since=since, until=until, items=(), truncated=False)
        pairs = [(one.tree, other.tree) for one, other in pairwise(moments)]
        steps = await self._trees.steps([(moments[0].tree, moments[-1].tree), *pairs])
        by = dict[str, dict[By, None]]()
        for moment, step in zip(moments[1:], steps[1:], strict=True):
            for change in step:
                by.setdefault(change.path, {})[moment.whose(change.path)] = None
        items = [
            FileChange(
                path=printable(one.path),
                status=words.get(one.status, "modified"),
                by=tuple(by.get(one.path, ("unknown",))),
            )
            for one in steps[0]
        ]
        return FileChanges(since=since, until=until, items=tuple(items[:LISTED]), truncated=len(items) > LISTED)

    async def diff(self, path: str, since: int, until: int) -> FileDiff:
        """Return the diff of a file, or of all files below a directory."""
        first, last = sorted((since, until))
        moments = await self._between(first, last)
        if not moments:
            return FileDiff(diff="", truncated=False)
        trees = (moments[0].tree, moments[-1].tree) if since <= until else (moments[-1].tree, moments[0].tree)
        diff, cut = await self._trees.diff(*trees, "/".join(parts_of(path)))
        return FileDiff(diff=diff, truncated=cut)

    async def _between(self, since: int, until: int) -> Sequence[Moment]:
        """Return the moments between two events; none if no call could change files yet."""
        history = await self._history()
        moments = history.between(since, until)
        if moments or (self._keeps and not history.moments):
            return moments
        raise _missing(since)


class Earlier:
    """The earlier versions of a workspace's files, if any are kept. All methods raise `WorkspaceError`."""

    def __init__(self, kept: KeptFiles | None) -> None:
        self._kept = kept

    async def ask(self, question: ListFiles | AskFileChanges | AskFileDiff) -> FileList | FileChanges | FileDiff:
        """Return the reply to a question about an event, or about two."""
        match question:
            case ListFiles(path=path, at=at):
                assert at is not None
                return await self._there.list(path, at)
            case AskFileChanges(since=since, until=until):
                return await self._there.changes(since, until)
            case AskFileDiff(path=path, since=since, until=until):
                return await self._there.diff(path, since, until)

    async def read(self, path: str, at: int) -> bytes:
        """Return a file as it was after an event."""
        return await self._there.read(path, at)

    @property
    def _there(self) -> KeptFiles:
        if self._kept is None:
            raise WorkspaceError("no-checkpoint", "this store keeps none")
        return self._kept


def _there(moment: Moment | None, at: int) -> Moment:
    if moment is None:
        raise _missing(at)
    return moment


def _missing(at: int) -> WorkspaceError:
    return WorkspaceError("no-checkpoint", f"no checkpoint at or after event {at}")


def _entry(stored: Stored, here: str, moment: Moment) -> FileEntry:
    name = printable(stored.name)
    return FileEntry(
        name=name,
        path=f"{here}/{name}" if here else name,
        type=_TYPES.get(stored.mode[:2], "file"),
        size=stored.size,
        modified=moment.time,
    )
