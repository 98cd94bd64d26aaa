"""`Trees`: versions of a workspace's files, kept as git trees in a separate store.

Ignored files are kept too, unless there are too many, and so are the files of nested repositories. `.git`, empty
directories, times, owners, and what is neither a file nor a link are not kept.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..errors import WorkspaceError
from .bases import Bases
from .fingerprint import changed_since, fingerprint
from .left_out import RECORD, LeftOut
from .patching import Patched, Patcher
from .restoring import put, remove_staging, staged, sweep
from .stored_trees import OURS, StoredTrees
from .tree_index import STAGING, TreeIndex
from .tree_limits import MANY, Most, check_place
from .tree_listing import Change
from .tree_store import Settings, TreeStore, entries
from .watching import Watch, watch

MOST_NESTED = 20
"""Maximum number of repositories within the workspace whose files are kept; the others are left out."""

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without files; git knows it without storing it."""

MOST_NAMED = 100
"""Maximum number of paths named that are not in a tree."""

UNSAVED = 1 << 20
"""Bytes that may have been kept since their number was saved; a crash forgets them."""

_ROUNDS = 8
"""Maximum number of attempts to write a tree. An attempt starts over if it finds another repository in the workspace,
if a listed file is gone, or if the ignored files turn out to be too many."""


class Kept(msgspec.Struct, frozen=True):
    """A tree, and a description of what is not in it: directories, files and kinds of files."""

    tree: str
    left_out: tuple[str, ...] = ()


class Restored(msgspec.Struct, frozen=True):
    """The tree of the files before the restore, the paths that were restored, and those that were left as they are.

    `unknown` are the paths among `left` of which the earlier content, or who has changed them, is not known.
    """

    before: str
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class _Looked(NamedTuple):
    """What a look at the files has found."""

    settings: Settings
    changed: Collection[str] | None = None
    """The paths that may have changed; None: all files were looked at."""
    made: Patched | None = None
    """The tree, if it could be made without git."""
    mark: bytes | None = None
    """The fingerprint of all files, from just before."""
    is_same: bool = False
    """Whether it is that of the last tree."""


class Trees(StoredTrees):
    """The trees of one workspace. Calls that keep or restore files wait for each other."""

    def __init__(
        self,
        directory: str,
        workspace: str,
        origins: Sequence[str] = (),
        *,
        apart_from: Sequence[str] = (),
        most: Most = Most(),
        bases: Bases | None = None,
    ) -> None:
        """`origins` are the directories of the stores that this one continues: their trees are available, too. What is
        at or below the paths `apart_from` is left alone. `bases` has the first trees of others in the workspace.
        """
        super().__init__(TreeStore(directory, origins))
        self._workspace, self._most = workspace, most
        self._directory, self.apart_from = directory, apart_from
        self._bases = bases
        root = os.path.realpath(workspace).rstrip("/") + "/"
        real = [os.path.realpath(path) for path in (directory, *apart_from)]
        self._apart = [OURS, *(path.removeprefix(root) for path in real if path.startswith(root))]
        self._base = (root, *self._apart, most)
        """Stores for which this is the same have the same first tree."""
        self._within = next((path for path in real if root.startswith(f"{path.rstrip('/')}/")), None)
        self._settings: Settings | None = None
        self._saved = Settings()
        self._modes = dict[str, int]()
        self._last: Kept | None = None
        self._left_out: frozenset[str] | None = None
        self._mark: bytes | None = None
        """The fingerprint from just before the last tree was made: while it still holds, so does the tree."""
        self._patcher: Patcher
        """Once the store is set up."""
        self._ahead = False
        """Whether the last tree has changes that the indexes do not have."""
        self._watch: Watch | None = None
        self._watched = self._closed = False
        """`_watched`: whether it was tried to watch the workspace."""
        self._watching, self._saving = threading.Lock(), threading.Lock()
        self._lock = anyio.Lock()

    async def aclose(self) -> None:
        """Watch the workspace no longer."""
        self._closed = True
        if self._watched or self._lock.locked():
            await anyio.to_thread.run_sync(self._close)

    def _close(self) -> None:
        """For a thread."""
        with suppress(OSError):
            if self._settings is not None:
                self._save(self._settings)
        with self._watching:
            if self._watch is not None:
                self._watch.close()
                self._watch = None

    def is_still(self, tree: str) -> bool:
        """Return whether the files are those of a tree, as far as can be told at once. This does not block."""
        return self._last is not None and self._last.tree == tree and not self._lock.locked() and self._is_quiet()

    def _is_quiet(self) -> bool:
        """Return whether nothing has changed since the last look, as far as can be told at once."""
        return self._watch is not None and self._watch.is_quiet()

    async def keep(self, paths: Collection[str] | None = None, *, whole: bool = False) -> Kept:
        """Return the tree of the files as they are now; for a workspace that was removed, the tree without files.

        `paths` are the only ones that can have changed since the last tree, as far as the caller cares; None: any. With
        `whole`, all files are looked at, also those that did not change as far as the kernel tells. Raises
        `WorkspaceError`, for example if there are too many files or git is not installed.
        """
        if self._within is not None:
            raise WorkspaceError("too-many-files", f"{self._workspace} is in {self._within}, which no agent works on")
        async with self._lock:
            try:
                return await self._kept(paths, whole)
            except OSError as error:
                self._last = None
                raise WorkspaceError("file", f"{error.filename or self._directory}: {error.strerror}") from error
            except anyio.get_cancelled_exc_class():
                self._last = None  # what has changed was taken, and is in no tree
                raise
            except WorkspaceError:
                self._last = None
                if not await anyio.to_thread.run_sync(self._is_removed):
                    raise
                return Kept(EMPTY)

    def _is_removed(self) -> bool:
        """Return whether the workspace has existed and is gone. For a thread."""
        return self._store.has_files and not os.path.isdir(self._workspace)

    async def _kept(self, paths: Collection[str] | None, whole: bool) -> Kept:
        taken = None if whole or self._last is None or self._watch is None else self._watch.changed_at_once()
        if taken is not None and not taken:
            assert self._last is not None
            return self._last
        looked = await anyio.to_thread.run_sync(self._look, paths, whole, taken)
        settings, made = looked.settings, looked.made
        if looked.changed is not None:
            assert self._last is not None
            if not looked.changed:
                return self._last
            if made is None and not settings.ignored:
                made = await self._without_ignored(settings, looked.changed)
            if made is not None:
                return self._became(made, self._last.left_out)
            looked = await anyio.to_thread.run_sync(self._look_at_all, settings)
        if not looked.is_same:
            self._mark = None
            if looked.made is not None:
                self._became(looked.made)
            else:
                self._last = await self._by_git(settings)
                self._patcher.looked()
            self._mark = looked.mark
        assert self._last is not None
        return self._last

    def _look(self, paths: Collection[str] | None, whole: bool, taken: Collection[str] | None) -> _Looked:
        """Look at what has changed since the last call, if `taken` does not say it, or at all files. For a thread."""
        settings = self._settings or self._set_up()
        changed = self._changed_paths(paths) if taken is None else taken
        if changed is None or self._last is None or whole:
            return self._look_at_all(settings)
        return _Looked(settings, changed, self._patched(settings, changed) if changed and settings.ignored else None)

    def _look_at_all(self, settings: Settings) -> _Looked:
        mark = fingerprint(self._workspace, self._apart)
        if self._last is not None and mark is not None and mark == self._mark:
            return _Looked(settings, is_same=True)
        return _Looked(settings, None, self._patched(settings, None), mark)

    def _changed_paths(self, paths: Collection[str] | None) -> Collection[str] | None:
        """Return the paths that may have changed since the last call; None: any. For a thread."""
        with self._watching:
            if self._closed:
                return None
            if not self._watched or (self._watch is not None and self._watch.is_blind):
                if self._watch is not None:
                    self._watch.close()
                self._watched, self._watch = True, watch(self._workspace, self._apart)
            return paths if self._watch is None else self._watch.changed()

    async def _without_ignored(self, settings: Settings, paths: Collection[str]) -> Patched | None:
        """Return the tree with what changed at some paths, if git says that none is ignored; None if it has to look."""
        left_out = LeftOut(self._left_out or ())
        if not left_out.paths.isdisjoint(paths):
            return None  # it may be one that can be kept by now
        paths = [path for path in paths if not left_out.covers(path)]
        if paths and await self._may_be_ignored(paths):
            return None
        return await anyio.to_thread.run_sync(self._patched, settings, paths)

    def _became(self, made: Patched, left_out: tuple[str, ...] = ()) -> Kept:
        """Note and return the last tree, which was made without git."""
        self._last, self._mark, self._ahead = Kept(made.tree or EMPTY, left_out), None, True
        return self._last

    def _patched(self, settings: Settings, paths: Collection[str] | None) -> Patched | None:
        """Return the last tree with what changed at some paths (None: all of a small workspace); None if that takes
        git. For a thread.
        """
        if paths is None:
            self._left_out = None
            made = self._patcher.of_small(settings)
        else:
            assert self._last is not None
            tree = None if self._last.tree == EMPTY else self._last.tree
            made = self._patcher.of_changed(tree, paths, settings, LeftOut(self._left_out or ()))
        if made is None:
            return None
        if made.added:
            self._settings = replace(settings, stored=settings.stored + made.added)
            if not self._saved.stored or self._settings.stored - self._saved.stored >= UNSAVED:
                self._save(self._settings)
        self._note_modes(made.files, made.modes)
        return made

    async def _may_be_ignored(self, paths: Collection[str]) -> bool:
        """Return whether any of some paths is ignored."""
        if any(path.rpartition("/")[2] == ".gitignore" for path in paths):
            return True
        given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        asked = ("check-ignore", "--no-index", "-q", "-z", "--stdin")
        said = await self._store.git(*asked, tree=self._workspace, given=given, check=False)
        return said.code != 1

    async def _by_git(self, settings: Settings) -> Kept:
        """Return the tree of the files after git has looked at all of them. The first one in a workspace is shared."""
        if self._bases is None or await anyio.to_thread.run_sync(lambda: self._store.has_files):
            return await self._now(settings)
        store = Path(self._directory)
        if not await self._bases.link(self._base, store):
            async with self._bases.making(self._base):
                if not await self._bases.link(self._base, store):
                    kept = await self._now(settings)
                    if await anyio.to_thread.run_sync(self._is_large):
                        await self._bases.publish(self._base, store)
                    return kept
        self._settings = None
        return await self._now(await anyio.to_thread.run_sync(self._set_up))

    def _is_large(self) -> bool:
        """Return whether the files are many, and this store has all of them. For a thread."""
        settings = self._settings or Settings()
        whole = not (self._store.continues or settings.nested or settings.others)
        return whole and entries(self._store.index) >= MANY

    async def _now(self, settings: Settings) -> Kept:
        """Return the tree of the files after bringing all indexes up to date."""
        failed = ""
        for _ in range(_ROUNDS):
            nested = await anyio.to_thread.run_sync(_still, self._workspace, settings.nested)
            ignored, changed = settings.ignored, tuple(nested) != settings.nested
            left_out, found, failed = set[str](), set[str](), ""
            for below in (None, *nested):
                index = TreeIndex(self._store, self._workspace, below, (*nested, *settings.others), self._apart)
                done = await index.follow(settings, self._most)
                changed = changed or done.changed
                settings, failed = done.settings, failed or done.failed
                found.update(done.repositories)
                left_out.update(done.left_out)
                await anyio.to_thread.run_sync(self._note_modes, done.kept, done.modes)
            settings = await self._noted(_with(replace(settings, nested=tuple(nested)), found))
            if not found and not failed and ignored == settings.ignored:
                return await self._composed(settings, frozenset(left_out), changed)
            self._last = None
        raise WorkspaceError("git-failed", failed or "repositories come and go in the workspace")

    async def changed_since(self, moment: int) -> bool:
        """Return whether any file may have changed since a moment, in nanoseconds."""
        return await anyio.to_thread.run_sync(changed_since, self._workspace, moment, self._apart)

    def own(self, paths: Iterable[str]) -> tuple[str, ...] | None:
        """Return the paths as a tree names them; for a link, its own path and the path that it leads to. None if one of
        these is not in the workspace. For a thread.
        """
        root, found = os.path.realpath(self._workspace), set[str]()
        for path in paths:
            place = os.path.join(self._workspace, os.path.expanduser(path))
            above, name = os.path.split(os.path.normpath(place))
            itself = os.path.join(os.path.realpath(above), name)
            for real in (itself, os.path.realpath(itself)) if os.path.islink(itself) else (itself,):
                if not real.startswith(f"{root}/"):
                    return None
                found.add(real.removeprefix(f"{root}/"))
        return tuple(sorted(found))

    async def restore_copy(self, copy: str, target: str) -> None:
        """Restore the files of a copy of the workspace to those of a tree. Raises `WorkspaceError`."""
        directory = f"{self._directory}/copies/{uuid4().hex}"
        trees = Trees(directory, copy, (self._directory,), apart_from=self.apart_from, most=self._most)
        try:
            await trees.restore(target)
        finally:
            with anyio.CancelScope(shield=True):
                await trees.aclose()
                await anyio.to_thread.run_sync(partial(shutil.rmtree, directory, ignore_errors=True))

    async def restore(self, target: str, theirs: Iterable[Change] = (), through: Sequence[str] = ()) -> Restored:
        """Restore the files to those of a tree. Files that others have changed since become what these have made of
        them last (`theirs`). Raises `WorkspaceError`.

        A file that was left out of the tree, of one of the trees in between (`through`) or of the current one stays as
        it is, because it is not known what it was. The current files are kept first, and a file that differs from its
        kept version stays, too, so nothing is lost. Each file is put in its place whole. A workspace that was removed
        is made again.
        """
        before = (await self.keep(whole=True)).tree
        async with self._lock:
            then, *between, now = await self.left_out([target, *through, before])
            unknown = then | now
            for record in between:
                unknown |= record
            wanted = await self._with_theirs(target, theirs)
            (changes,) = await self._differences([(before, wanted)])
            known = [one for one in changes if not unknown.covers(one.path)]
            stayed = await self._put(wanted, known) if known else set[str]()
            (other,) = await self._differences([(wanted, target)])
            hidden = {one.path for one in changes if unknown.covers(one.path)} | (now.paths - then.paths)
        done = tuple(one.path for one in known if one.path not in stayed)
        left = {one.path for one in other} | stayed | hidden
        return Restored(before, done, tuple(sorted(left)), tuple(sorted(hidden)))

    async def _with_theirs(self, target: str, theirs: Iterable[Change]) -> str:
        """Return the tree `target` with the last version of each file in `theirs`."""
        last = {change.path: change for change in theirs}
        if not last:
            return target
        index = self._store.index_of("/theirs")
        await self._store.git("read-tree", target, index=index)
        lines = (f"{one.mode if one.status != 'D' else '0'} {one.blob}\t{one.path}\0" for one in last.values())
        given = "".join(lines).encode("utf-8", "surrogateescape")
        await self._store.git("update-index", "--replace", "-z", "--index-info", index=index, given=given)
        return await self._tree(index)

    async def _put(self, tree: str, changes: Sequence[Change]) -> set[str]:
        """Apply changes, each new file from a copy in the workspace; return the paths that stay because they are not as
        they were kept.
        """
        staging = f"{self._workspace}/{STAGING}{uuid4().hex}"
        held: int | None = None
        try:
            held = await anyio.to_thread.run_sync(staged, staging)
            if paths := [one.path for one in changes if one.status != "D"]:
                index = self._store.index_of("/restored")
                await self._store.git("read-tree", tree, index=index)
                given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
                await self._store.git(
                    "checkout-index",
                    f"--prefix={staging}/",
                    "-z",
                    "--stdin",
                    index=index,
                    given=given,
                    writes=staging,
                )
            return await anyio.to_thread.run_sync(put, self._workspace, staging, changes, self._modes)
        except OSError as error:
            raise WorkspaceError("file", f"{error.filename or staging}: {error.strerror}") from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove_staging, staging, held)

    def _set_up(self) -> Settings:
        """Set up the store, and remove what a restore that was cut off has left. For a thread."""
        check_place(self._workspace)
        settings = self._store.set_up(writes=True) or Settings()
        self._modes = self._store.modes()
        self._patcher = Patcher(self._store.objects(), self._workspace, self._apart, self._most)
        sweep(self._workspace)
        self._settings = self._saved = settings
        return settings

    async def _noted(self, settings: Settings) -> Settings:
        if settings != self._saved:
            await anyio.to_thread.run_sync(self._save, settings)
        self._settings = settings
        return settings

    def _save(self, settings: Settings) -> None:
        """Save the settings unless they are. Raises `OSError`. For a thread."""
        with self._saving:
            if settings != self._saved:
                self._store.note(settings)
                self._saved = settings

    def _note_modes(self, read: frozenset[str], found: dict[str, int]) -> None:
        """Note the permissions of the files that were read. For a thread."""
        modes = {path: mode for path, mode in self._modes.items() if path not in read} | found
        if modes != self._modes:
            self._modes = modes
            self._store.note_modes(modes)

    async def _tree(self, index: str) -> str:
        if not await anyio.to_thread.run_sync(entries, index):
            return EMPTY
        return (await self._store.git("write-tree", index=index)).output.decode().strip()

    async def _composed(self, settings: Settings, left_out: frozenset[str], changed: bool) -> Kept:
        """Return the tree of the workspace, with those of the repositories in it and the record of what is left out."""
        left_out |= {f"{path}/" for path in settings.others}
        if self._last is not None and not changed and not self._ahead and left_out == self._left_out:
            return self._last
        tree = await self._tree(self._store.index)
        record = LeftOut(left_out)
        if settings.nested or record.paths:
            index = self._store.index_of("/composed")
            await self._store.git("read-tree", tree, index=index)
            for below in sorted(settings.nested):
                inner = await self._tree(self._store.index_of(below))
                if inner != EMPTY:
                    await self._store.git("read-tree", f"--prefix={below}/", inner, index=index)
            if record.paths:
                said = await self._store.git("hash-object", "-w", "--stdin", given=record.encoded())
                line = f"100644 {said.output.decode().strip()}\t{RECORD}\0".encode()
                await self._store.git("update-index", "--add", "-z", "--index-info", index=index, given=line)
            tree = await self._tree(index)
        self._left_out, self._ahead = left_out, False
        return Kept(tree, _words(settings, left_out))


def _words(settings: Settings, left_out: frozenset[str]) -> tuple[str, ...]:
    """Return the description, for a person, of what is not in a tree."""
    if not settings.ignored:
        return ("what is ignored", *settings.others)[:MOST_NAMED]
    named = sorted(left_out - {f"{path}/" for path in settings.others})
    return (*settings.others, *named)[:MOST_NAMED]


def _with(settings: Settings, found: Iterable[str]) -> Settings:
    """Add repositories that were found: files of the first ones are kept, the others are left out from then on."""
    new = sorted(set(found) - {*settings.nested, *settings.others})
    free = max(MOST_NESTED - len(settings.nested), 0)
    nested, others = (*settings.nested, *new[:free]), (*settings.others, *new[free:])
    return replace(settings, nested=nested, others=others)


def _still(workspace: str, nested: Sequence[str]) -> list[str]:
    """Return the paths that are still repositories."""
    return [one for one in nested if os.path.lexists(f"{workspace}/{one}/.git")]
