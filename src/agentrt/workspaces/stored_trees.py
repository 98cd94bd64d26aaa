"""`StoredTrees`: the contents of the trees in a store, and their differences."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from ..errors import WorkspaceError
from .left_out import RECORD, LeftOut, decoded
from .tree_listing import Change, Stored, parsed_changes, parsed_listing
from .tree_store import TreeStore, excluding

OURS = ".agentrt"
"""The directory for the runtime's own files: in a workspace, and in a tree."""

AT_ONCE = 20
"""Maximum number of pairs of trees for one git command."""

_MOST_RECORDS = 50
"""Maximum number of records of left-out paths that are kept in memory."""


class StoredTrees:
    """The trees of one store. All methods raise `WorkspaceError`."""

    def __init__(self, store: TreeStore) -> None:
        self._store = store
        self._records = dict[str, LeftOut]()

    async def changes(self, before: str, after: str) -> list[Change]:
        """Return the differences of two trees, by path, as far as both are known."""
        return (await self.steps([(before, after)]))[0]

    async def steps(self, pairs: Sequence[tuple[str, str]]) -> list[list[Change]]:
        """Return the differences of each pair of trees, without paths that were left out of either."""
        trees = list(dict.fromkeys(tree for pair in pairs for tree in pair))
        unknown = dict(zip(trees, await self.left_out(trees), strict=True))
        steps = await self._differences(pairs)
        return [
            [one for one in step if not (unknown[before].covers(one.path) or unknown[after].covers(one.path))]
            for (before, after), step in zip(pairs, steps, strict=True)
        ]

    async def left_out(self, trees: Sequence[str]) -> list[LeftOut]:
        """Return for each tree what stood in the workspace but is not in the tree."""
        given = "".join(f"{tree}:{RECORD}\n" for tree in trees).encode()
        said = await self._store.git("cat-file", "--batch-check=%(objectname)", given=given)
        blobs = ["" if line.endswith(" missing") else line for line in said.output.decode().split("\n")[:-1]]
        return [await self._record(blob) if blob else LeftOut() for blob in blobs]

    async def _record(self, blob: str) -> LeftOut:
        if blob not in self._records:
            while len(self._records) >= _MOST_RECORDS:
                del self._records[next(iter(self._records))]
            self._records[blob] = decoded((await self._store.git("cat-file", "blob", blob)).output)
        return self._records[blob]

    async def _differences(self, pairs: Sequence[tuple[str, str]]) -> list[list[Change]]:
        """Return the differences of each pair of trees, including paths that were left out of one."""
        wanted = list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
        if not wanted:
            return [[] for _ in pairs]
        if len(wanted) > AT_ONCE:
            parts = [pairs[at : at + AT_ONCE] for at in range(0, len(pairs), AT_ONCE)]
            return [step for part in parts for step in await self._differences(part)]
        options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--stdin", "--", ".", *excluding([OURS]))
        given = "".join(f"{before} {after}\n" for before, after in wanted).encode()
        output = (await self._store.git("diff-tree", *options, given=given)).output
        found = await anyio.to_thread.run_sync(parsed_changes, output)
        return [found.get(pair, []) for pair in pairs]

    async def listing(self, tree: str, path: str = "") -> list[Stored]:
        """Return the entries of a directory in a tree."""
        said = await self._store.git("ls-tree", "-z", "--long", f"{tree}:{path}", check=False)
        if said.code:
            raise WorkspaceError("not-a-directory", f"{path!r} was none then")
        return [one for one in parsed_listing(said.output) if path or one.name != OURS]

    async def diff(self, before: str, after: str, path: str = "", most: int = 4 << 20) -> tuple[str, bool]:
        """Return the unified diff of two trees at or below a path, and whether it was cut."""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
        where = (f":(top,literal){path}" if path else ".", *excluding([OURS]))
        said = await self._store.git("diff", *options, before, after, "--", *where, most=most)
        return said.output.decode("utf-8", "replace"), said.cut

    async def read(self, tree: str, path: str, most: int = 64 << 20) -> bytes:
        """Return the bytes of a file in a tree; for a link, its target."""
        said = await self._store.git("cat-file", "blob", f"{tree}:{path}", check=False, most=most)
        if said.cut:
            raise WorkspaceError("file-too-large", path)
        if said.code:
            raise WorkspaceError("file-missing", f"{path!r} was not there")
        return said.output
