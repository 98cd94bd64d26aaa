"""What git says of a workspace: which files changed, and how. It is the real git, on an untrusted repository.

A repository's configuration can name programs that git runs. So git gets a directory of its own, with a copy of the
repository's index and `info/exclude`, and reads only its objects: no hook, filter, monitor or driver is known there.
What git writes stays in that directory. Only the commands that find HEAD use the repository's own directory; they run
no program of it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
import msgspec

from ..errors import WorkspaceError
from ..sandboxes.entries import GitChange, GitChanges, GitDiff
from ..sandboxes.here import THIS_MACHINE
from ..sandboxes.programs import printed
from ..scratch import runtime_directory

SECONDS = 15.0
"""Time limit of a git command."""

OUTPUT = 4 << 20
"""Maximum number of bytes of git's output."""

CHANGES = 10_000
"""Maximum number of changes listed."""

INDEX = 64 << 20
"""Maximum size of an index that is copied, in bytes."""

_EMPTY = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""The tree without files, by the object format of a repository."""

_OPTIONS = ("--no-optional-locks", "--literal-pathspecs", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false")
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all", "--find-renames")
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--find-renames")


class _Repository(msgspec.Struct, frozen=True):
    """A repository for queries: its work tree, git's environment (with our directory), and what is checked out."""

    tree: str
    environment: dict[str, str]
    head: str | None
    branch: str | None
    objects: str
    """The object format: "sha1" or "sha256"."""
    base: str | None = None
    """The commit that was asked for."""


def status_words() -> tuple[str, ...]:
    """Return the arguments of git for a status that `changed` reads."""
    return (*_OPTIONS, *_STATUS)


def diff_words() -> tuple[str, ...]:
    """Return the arguments of git for a diff; a commit and paths follow."""
    return (*_OPTIONS, *_DIFF)


async def changes(workspace: str) -> GitChanges:
    """Return what has changed since the last commit.

    Raises `WorkspaceError`, for example without a repository, or if git takes too long.
    """
    async with _opened(workspace) as repository:
        output, cut = await _git(repository.tree, repository.environment, *_STATUS)
    found = list(changed(output))
    return GitChanges(
        head=repository.head,
        branch=repository.branch,
        items=tuple(found[:CHANGES]),
        truncated=cut or len(found) > CHANGES,
    )


async def diff(workspace: str, path: str, base: str = "") -> GitDiff:
    """Return the diff of the files at or below a path from the commit `base`, by default the last one. Raises
    `WorkspaceError` like `changes`, and for an unknown commit.
    """
    async with _opened(workspace, base) as repository:
        where = ("--", path or ".")
        # so that the diff has new files; it fails if nothing is at the path
        await _git(repository.tree, repository.environment, "add", "--intent-to-add", *where, check=False)
        since = repository.base or repository.head or _EMPTY[repository.objects]
        output, cut = await _git(repository.tree, repository.environment, *_DIFF, since, *where)
    return GitDiff(diff=output.decode("utf-8", "replace"), truncated=cut)


async def committed(workspace: str, path: str) -> bytes | None:
    """Return a file as the last commit has it; None if it has none. Raises `WorkspaceError` like `changes`."""
    async with _opened(workspace) as repository:
        if repository.head is None:
            return None
        kind = ("cat-file", "-t", f"{repository.head}:{path}")
        said, _ = await _git(repository.tree, repository.environment, *kind, check=False)
        if said.strip() != b"blob":
            return None
        content, cut = await _git(repository.tree, repository.environment, "cat-file", "blob", kind[-1])
    if cut:
        raise WorkspaceError("file-too-large", f"the limit is {OUTPUT} bytes")
    return content


@asynccontextmanager
async def _opened(workspace: str, base: str = "") -> AsyncIterator[_Repository]:
    plain = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        # a missing object may be promised by a remote, and a remote's URL may name a program
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
    }
    place = await anyio.to_thread.run_sync(_find, workspace)
    async with runtime_directory.temporary("git-") as made:
        own = plain | {"GIT_DIR": str(place)}
        head, branch, objects = await _head(workspace, own)
        since = await _commit(workspace, own, base) if base else None
        await anyio.to_thread.run_sync(_prepare, Path(made), place, head, objects == "sha256")
        environment = plain | {
            "HOME": made,
            "GIT_DIR": made,
            "GIT_WORK_TREE": workspace,
        }
        yield _Repository(workspace, environment, head, branch, objects, since)


def _find(workspace: str) -> Path:
    """Return the repository's own directory in the workspace; a link to another is not followed. For a thread."""
    place = Path(workspace) / ".git"
    if place.is_symlink() or not place.is_dir() or (place / "objects").is_symlink():
        raise _missing()
    return place.absolute()


def _missing() -> WorkspaceError:
    return WorkspaceError("git-missing", "the workspace has no .git directory of its own")


async def _head(workspace: str, environment: dict[str, str]) -> tuple[str | None, str | None, str]:
    """Return the commit that is checked out, the branch and the object format.

    These commands run no program of the repository.
    """
    known, _ = await _git(workspace, environment, "rev-parse", "--git-dir", "--show-object-format", check=False)
    if not known:
        raise _missing()
    head, _ = await _git(workspace, environment, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
    branch, _ = await _git(workspace, environment, "symbolic-ref", "--short", "--quiet", "HEAD", check=False)
    objects = "sha256" if known.split()[-1] == b"sha256" else "sha1"
    return head.decode().strip() or None, branch.decode("utf-8", "replace").strip() or None, objects


async def _commit(workspace: str, environment: dict[str, str], name: str) -> str:
    """Return the commit with a name. Raises `WorkspaceError`. The command runs no program of the repository."""
    if "\0" in name:
        raise WorkspaceError("git-no-commit", "a commit has no such name")
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found, _ = await _git(workspace, environment, *words, check=False)
    if not found.strip():
        raise WorkspaceError("git-no-commit", f"the repository has no commit {name!r}")
    return found.decode().split()[-1]


def _prepare(made: Path, place: Path, head: str | None, long: bool) -> None:
    """Fill our directory for git. For a thread."""
    extension = "\n[extensions]\n\tobjectFormat = sha256\n" if long else ""
    (made / "config").write_text(f"[core]\n\trepositoryFormatVersion = {1 if long else 0}\n\tbare = false\n{extension}")
    (made / "HEAD").write_text(f"{head}\n" if head else "ref: refs/heads/none\n")
    for name in ("objects/info", "refs", "info"):
        (made / name).mkdir(parents=True)
    (made / "objects/info/alternates").write_text(f"{place / 'objects'}\n")
    for name in ("index", "info/exclude"):
        _copy(place / name, made / name)


def _copy(source: Path, target: Path) -> None:
    """Copy a file with its time: git reads the content of files that are not older than the index."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # there is none, or it is a link
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if found.st_size > INDEX:
            raise WorkspaceError("git-too-large", f"its {source.name} has too many bytes")
        with target.open("wb") as copy:
            shutil.copyfileobj(file, copy)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


async def _git(tree: str, environment: dict[str, str], *arguments: str, check: bool = True) -> tuple[bytes, bool]:
    """Return git's output, and whether it was cut. Raises `WorkspaceError` if git fails or takes too long."""
    command = ["git", *_OPTIONS, *arguments]
    try:
        said = await printed(
            THIS_MACHINE,
            command,
            cwd=tree,
            environment=environment,
            seconds=SECONDS,
            most=OUTPUT,
            reads=await anyio.to_thread.run_sync(_shared_objects, tree),
            writes=(environment["HOME"],) if "HOME" in environment else (),
        )
    except FileNotFoundError as error:
        raise WorkspaceError("git-not-installed", "install it where the conversation runs") from error
    except TimeoutError as error:
        raise WorkspaceError("git-timeout", f"no answer within {SECONDS:g} s") from error
    if check and not said.cut and said.code:
        raise WorkspaceError("git-failed", f"git {arguments[0]} ended with {said.code}")
    return said.output, said.cut


def _shared_objects(tree: str) -> list[str]:
    """Return the directories of objects that a repository shares with others (git-clone(1), `--shared`).

    Nothing but git reads them. For a thread.
    """
    try:
        lines = (Path(tree) / ".git/objects/info/alternates").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [line for line in lines if os.path.basename(line) == "objects" and os.path.isdir(line)]


def changed(output: bytes) -> Iterator[GitChange]:
    """Yield the changes in the output of `git status --porcelain=v2 -z`."""
    fields = iter(output.decode("utf-8", "replace").split("\0"))
    for line in fields:
        kind, _, rest = line.partition(" ")
        match kind:
            case "1":
                yield GitChange(path=rest.split(" ", 7)[-1], status=_state(rest[0], rest[1]))
            case "2":
                yield GitChange(path=rest.split(" ", 8)[-1], status="renamed", origin=next(fields, None))
            case "u":
                yield GitChange(path=rest.split(" ", 9)[-1], status="conflicted")
            case "?":
                yield GitChange(path=rest, status="untracked")


def _state(staged: str, unstaged: str) -> Literal["added", "modified", "deleted"]:
    """Return what became of a file since the commit, by its states in the index and in the work tree."""
    if unstaged == "D" or (staged == "D" and unstaged == "."):
        return "deleted"
    return "added" if staged in "AC" else "modified"
