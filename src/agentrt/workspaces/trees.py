"""`Trees`: a workspace's files as they were, kept as trees of git in a store of their own.

What a repository ignores is kept too, unless that is much, and so are the files of nested repositories. Not kept are
`.git` itself, empty directories, times, owners, and what is neither a file nor a link.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from functools import partial
from uuid import uuid4

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..errors import WorkspaceError
from .fingerprint import fingerprint
from .restoring import put, remove_staging
from .tree_limits import Most, check_place, check_size, is_little
from .tree_listing import Change, Stored, parsed_changes, parsed_listing
from .tree_store import Settings, TreeStore, entries, excluding

MOST_NESTED = 20
"""Repositories within the workspace whose files are kept; the others are left out."""

OURS = ".agentrt"
"""What the runtime itself puts into a workspace."""

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without files."""

AT_ONCE = 20
"""Pairs of trees that git is asked about at once."""

_ROUNDS = 8
"""How often a tree is begun anew since another repository was found in the workspace."""

_FOUND = re.compile(
    r"^(?:warning: adding embedded git repository: (.*)|error: '(.*)/' does not have a commit.*)$", re.MULTILINE
)


class Kept(msgspec.Struct, frozen=True):
    """A tree, and what is not in it: directories and kinds of files, in words."""

    tree: str
    left_out: tuple[str, ...] = ()


class Restored(msgspec.Struct, frozen=True):
    """The tree of the files before, the paths that were restored, and those that were left as they are."""

    before: str
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Trees:
    """The trees of one workspace; calls wait for one another."""

    def __init__(
        self,
        directory: str,
        workspace: str,
        origins: Sequence[str] = (),
        *,
        apart_from: Sequence[str] = (),
        most: Most = Most(),
    ) -> None:
        """`origins` are the directories of those that this one goes on from: their trees are there, too. What is at or
        below the paths `apart_from` is left alone.
        """
        self._workspace, self._most = workspace, most
        self._directory, self.apart_from = directory, apart_from
        root = os.path.realpath(workspace).rstrip("/") + "/"
        real = [os.path.realpath(path) for path in (directory, *apart_from)]
        self._apart = [OURS, *(path.removeprefix(root) for path in real if path.startswith(root))]
        self._within = next((path for path in real if root.startswith(f"{path.rstrip('/')}/")), None)
        self._store = TreeStore(directory, workspace, origins)
        self._settings: Settings | None = None
        self._last: Kept | None = None
        self._mark: bytes | None = None
        """The fingerprint of the files that the last tree has, at the least."""
        self._lock = anyio.Lock()

    async def keep(self) -> Kept:
        """The tree of the files as they are now. Raises `WorkspaceError`: there are too many, or git is not there."""
        if self._within is not None:
            raise WorkspaceError("too-many-files", f"{self._workspace} is in {self._within}, which no agent works on")
        async with self._lock:
            settings = await self._begun()
            mark = await anyio.to_thread.run_sync(fingerprint, self._workspace, self._apart)
            if self._last is None or mark is None or mark != self._mark:
                self._mark = None
                self._last = await self._now(settings)
                self._mark = mark
            return self._last

    async def _now(self, settings: Settings) -> Kept:
        """The tree of the files, whatever they were before."""
        for _ in range(_ROUNDS):
            nested = await anyio.to_thread.run_sync(_still, self._workspace, settings.nested)
            found, changed = list[str](), tuple(nested) != settings.nested
            for below in (None, *nested[:MOST_NESTED]):
                settings, more = await self._checked(settings, below, nested)
                if more:
                    found += await self._add(below, nested, ignored=settings.ignored)
                changed = changed or more
            settings = await self._noted(replace(settings, nested=tuple(sorted({*nested, *found}))))
            if not found:
                return await self._composed(settings) if changed or self._last is None else self._last
        raise WorkspaceError("git-failed", "repositories come and go in the workspace")

    async def restore_copy(self, copy: str, target: str) -> None:
        """Make the files of a copy of the workspace what they were in a tree. Raises `WorkspaceError`."""
        directory = f"{self._directory}/copies/{uuid4().hex}"
        trees = Trees(directory, copy, (self._directory,), apart_from=self.apart_from, most=self._most)
        try:
            await trees.restore(target)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(shutil.rmtree, directory, ignore_errors=True))

    async def changes(self, before: str, after: str) -> list[Change]:
        """What is not the same in two trees, by path. Raises `WorkspaceError`."""
        return (await self.steps([(before, after)]))[0]

    async def steps(self, pairs: Sequence[tuple[str, str]]) -> list[list[Change]]:
        """What is not the same in each pair of trees. Raises `WorkspaceError`."""
        wanted = list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
        if not wanted:
            return [[] for _ in pairs]
        if len(wanted) > AT_ONCE:
            return [step for at in range(0, len(pairs), AT_ONCE) for step in await self.steps(pairs[at : at + AT_ONCE])]
        options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--stdin")
        given = "".join(f"{before} {after}\n" for before, after in wanted).encode()
        output = (await self._store.git("diff-tree", *options, given=given)).output
        found = await anyio.to_thread.run_sync(parsed_changes, output)
        return [found.get(pair, []) for pair in pairs]

    async def listing(self, tree: str, path: str = "") -> list[Stored]:
        """What is in a directory of a tree. Raises `WorkspaceError`."""
        said = await self._store.git("ls-tree", "-z", "--long", f"{tree}:{path}", check=False)
        if said.code:
            raise WorkspaceError("not-a-directory", f"{path!r} was none then")
        return list(parsed_listing(said.output))

    async def diff(self, before: str, after: str, path: str = "", most: int = 4 << 20) -> tuple[str, bool]:
        """The unified diff of two trees at or below a path, and whether it was cut. Raises `WorkspaceError`."""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
        where = ("--", f":(top,literal){path}") if path else ()
        said = await self._store.git("diff", *options, before, after, *where, most=most)
        return said.output.decode("utf-8", "replace"), said.cut

    async def read(self, tree: str, path: str, most: int = 64 << 20) -> bytes:
        """A file of a tree, of a link where it leads. Raises `WorkspaceError`."""
        said = await self._store.git("cat-file", "blob", f"{tree}:{path}", check=False, most=most)
        if said.cut:
            raise WorkspaceError("file-too-large", path)
        if said.code:
            raise WorkspaceError("file-missing", f"{path!r} was not there")
        return said.output

    async def restore(self, target: str, others: Sequence[tuple[str, str]] = ()) -> Restored:
        """Make the files what they were in a tree, but for those that others have changed between pairs of trees: they
        become what the last of those made of them. Raises `WorkspaceError`.

        The files as they are now are kept first, and a file that is not as it was kept stays: so nothing is lost. Each
        file is put in its place whole.
        """
        before = (await self.keep()).tree
        async with self._lock:
            wanted = await self._with_theirs(target, await self.steps(others))
            changes = await self.changes(before, wanted)
            stayed = await self._put(wanted, changes) if changes else set[str]()
            theirs = {change.path for change in await self.changes(wanted, target)}
        done = tuple(one.path for one in changes if one.path not in stayed)
        return Restored(before, done, tuple(sorted(theirs | stayed)))

    async def _with_theirs(self, target: str, steps: Sequence[Sequence[Change]]) -> str:
        """A tree with what others have made of their files."""
        last = {change.path: change for step in steps for change in step}
        if not last:
            return target
        index = self._store.index_of("/theirs")
        await self._store.git("read-tree", target, index=index)
        lines = (f"{one.mode if one.status != 'D' else '0'} {one.blob}\t{one.path}\0" for one in last.values())
        given = "".join(lines).encode("utf-8", "surrogateescape")
        await self._store.git("update-index", "--replace", "-z", "--index-info", index=index, given=given)
        return await self._tree(index)

    async def _put(self, tree: str, changes: Sequence[Change]) -> set[str]:
        """Make changes, each file from a copy beside them; the paths that are not as they were kept, and stay."""
        staging = f"{self._workspace}/{OURS}/restoring-{uuid4().hex}"
        try:
            if paths := [one.path for one in changes if one.status != "D"]:
                await anyio.to_thread.run_sync(partial(os.makedirs, staging, mode=0o700))
                index = self._store.index_of("/restored")
                await self._store.git("read-tree", tree, index=index)
                given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
                await self._store.git(
                    "checkout-index", f"--prefix={staging}/", "-z", "--stdin", index=index, given=given
                )
            return await anyio.to_thread.run_sync(put, self._workspace, staging, changes)
        except OSError as error:
            raise WorkspaceError("file", f"{error.filename or staging}: {error.strerror}") from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove_staging, staging)

    async def _begun(self) -> Settings:
        if self._settings is None:
            await anyio.to_thread.run_sync(check_place, self._workspace)
            self._settings = await self._store.prepare(writes=True) or Settings()
        return self._settings

    async def _noted(self, settings: Settings) -> Settings:
        if settings != self._settings:
            await self._store.note(settings)
            self._settings = settings
        return settings

    async def _checked(self, settings: Settings, below: str | None, nested: Sequence[str]) -> tuple[Settings, bool]:
        """Whether something is new, changed or gone. Raises `WorkspaceError` where it is too much to be kept."""
        index, tree = self._at(below)
        if await anyio.to_thread.run_sync(entries, index) > self._most.files:
            raise WorkspaceError("too-many-files", f"{tree} has more than {self._most.files:,}")
        changed = await self._listed(below, nested, "--others", "--modified", *_not_ignored(settings.ignored))
        if settings.ignored and not await anyio.to_thread.run_sync(is_little, tree, changed, self._most):
            ignored = await self._listed(below, nested, "--others", "--ignored", "--exclude-standard")
            if not await anyio.to_thread.run_sync(is_little, tree, ignored, self._most):
                changed = await self._listed(below, nested, "--others", "--modified", *_not_ignored(False))
                settings, self._last = replace(settings, ignored=False), None
        stored = await anyio.to_thread.run_sync(check_size, tree, changed, self._most, settings.stored)
        return replace(settings, stored=stored), bool(changed)

    async def _listed(self, below: str | None, nested: Sequence[str], *options: str) -> list[str]:
        index, tree = self._at(below)
        where = ("--", *self._specs(below, nested))
        said = await self._store.git("ls-files", "-z", *options, *where, index=index, tree=tree)
        return said.output.decode("utf-8", "surrogateescape").split("\0")[:-1]

    async def _add(self, below: str | None, nested: Sequence[str], *, ignored: bool) -> list[str]:
        """Bring an index up to date; the repositories that were found meanwhile, from the workspace on."""
        prefix = f"{below}/" if below else ""
        out = _within(below, nested)
        index, tree = self._at(below)
        force = ["--force"] if ignored else []
        specs = self._specs(below, nested)
        said = await self._store.git(
            "add", "--all", *force, "--ignore-errors", "--", *specs, index=index, tree=tree, check=False
        )
        words = said.errors.decode("utf-8", "surrogateescape")
        found = [one or other for one, other in _FOUND.findall(words)]
        if said.code not in (0, 1) and not found:
            raise WorkspaceError("git-failed", words.strip().split("\n")[-1])
        if gone := "".join(f"{one}\0" for one in (*found, *out)).encode("utf-8", "surrogateescape"):
            await self._store.git("update-index", "--force-remove", "-z", "--stdin", index=index, tree=tree, given=gone)
        return [f"{prefix}{one}" for one in found]

    def _specs(self, below: str | None, nested: Sequence[str]) -> list[str]:
        """What is kept of the workspace, or of a repository in it."""
        return [".", *excluding([*_within(below, nested), *_within(below, self._apart)])]

    def _at(self, below: str | None) -> tuple[str, str]:
        """The index and the work tree of the workspace, or of a repository in it."""
        if below is None:
            return self._store.index, self._workspace
        return self._store.index_of(below), f"{self._workspace}/{below}"

    async def _tree(self, index: str) -> str:
        return (await self._store.git("write-tree", index=index)).output.decode().strip()

    async def _composed(self, settings: Settings) -> Kept:
        """The tree of the workspace with those of the repositories in it."""
        left_out = () if settings.ignored else ("what is ignored",)
        tree = await self._tree(self._store.index)
        kept, others = settings.nested[:MOST_NESTED], settings.nested[MOST_NESTED:]
        if not kept:
            return Kept(tree, left_out)
        index = self._store.index_of("/composed")
        await self._store.git("read-tree", tree, index=index)
        for below in kept:
            inner = await self._tree(self._store.index_of(below))
            if inner != EMPTY:
                await self._store.git("read-tree", f"--prefix={below}/", inner, index=index)
        return Kept(await self._tree(index), (*left_out, *others))


def _still(workspace: str, nested: Sequence[str]) -> list[str]:
    """Those that are still repositories."""
    return [one for one in nested if os.path.lexists(f"{workspace}/{one}/.git")]


def _within(below: str | None, nested: Sequence[str]) -> list[str]:
    """The repositories within the workspace, or within one of them, from there on."""
    prefix = f"{below}/" if below else ""
    return [one.removeprefix(prefix) for one in nested if one.startswith(prefix) and one != below]


def _not_ignored(ignored: bool) -> tuple[str, ...]:
    return () if ignored else ("--exclude-standard",)
