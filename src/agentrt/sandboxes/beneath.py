"""`Beneath`: access to the files below a directory and never outside, even if somebody moves files meanwhile.

Each part of a path is opened separately, relative to the directory before it. Symbolic links are followed by our own
code if they lead to a place below; a link that leads elsewhere, or above, is refused. All functions are for a thread:
they block.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from ..errors import WorkspaceError
from .entries import FileEntry, entry_of, printable

LINKS = 40
"""Maximum number of symbolic links followed on the way to a file, as in the kernel."""

STEPS = 1000
"""Maximum number of path parts on that way, including those of the links."""

DEPTH = 256
"""Maximum nesting of directories."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a directory on the way, which need not be readable."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Beneath:
    """The files below a directory. Paths are relative to it, with "/" between their parts."""

    def __init__(
        self, root: str, check: Callable[[str, str], None] | None = None, name: str = "", kept: object = None
    ) -> None:
        """`name` is what absolute links call the root, if that is not its path, and `kept` is what keeps it open.

        `check` is called with a path and the place that it leads to, links followed, before a file is opened, written,
        moved or removed there; an exception from it prevents that.
        """
        self._root, self._check, self._name, self._kept = root, check, name or root, kept

    @contextmanager
    def directory(self, path: str, *, make: bool = False, file: str = "") -> Iterator[int]:
        """Yield a descriptor of a directory; with `make`, missing directories are made, after a check of the place of a
        `file` in it. Raises `WorkspaceError`.
        """
        with ExitStack() as opened, _told(path):

            def making(parent: int, rest: str) -> None:
                if file:
                    self._checked(f"{path}/{file}", parent, f"{rest}/{file}")

            parent, _ = _walk(opened, self._root, self._name, parts_of(path), making if make else None)
            descriptor = os.open(".", _DIRECTORY, dir_fd=parent)
            opened.callback(os.close, descriptor)
            yield descriptor

    def open(self, path: str) -> io.FileIO:
        """Open a file for reading. Raises `WorkspaceError`, also for what is not a file."""
        return io.FileIO(self.descriptor(path), "rb")

    def descriptor(self, path: str) -> int:
        """Open a file for reading and return its descriptor, which the caller closes. Raises `WorkspaceError`."""
        with self._parent(path) as (parent, name), _told(path):
            return opened_in(parent, name, path)

    def list(self, path: str) -> list[FileEntry]:
        """Return the entries of a directory, directories first, then by name. Raises `WorkspaceError`."""
        with self.directory(path) as descriptor:
            found = [entry_of(name, f"{path}/{name}".strip("/"), status) for name, status in children(descriptor)]
        return sorted(found, key=lambda entry: (entry.type != "directory", entry.name))

    def exists(self, path: str) -> bool:
        """Return whether something is at a path, even a dangling link. Raises `WorkspaceError`."""
        parts = parts_of(path)
        try:
            with self.directory("/".join(parts[:-1])) as parent, _told(path):
                os.stat(parts[-1] if parts else ".", dir_fd=parent, follow_symlinks=False)
        except WorkspaceError as refused:
            if refused.code == "file-missing":
                return False
            raise
        return True

    def entry(self, path: str) -> FileEntry:
        """Return the entry of what a path leads to, links followed. Raises `WorkspaceError`."""
        with self._parent(path) as (parent, name), _told(path):
            return entry_of(name, path, os.stat(name, dir_fd=parent, follow_symlinks=False))

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of what a path leads to, links followed; None if nothing is there.

        Raises `WorkspaceError`.
        """
        with ExitStack() as opened, _told(path):
            try:
                parent, name = _walk(opened, self._root, self._name, parts_of(path), last=bool(parts_of(path)))
                return os.stat(name or ".", dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                return None
            except IsADirectoryError:  # a link that leads upwards
                return os.fstat(_walk(opened, self._root, self._name, parts_of(path))[0])

    def rewrite(self, path: str, data: bytes, bits: int = 0o777) -> None:
        """Write a file whole or not at all, where links lead; it keeps these `bits` of its mode.

        Missing directories are made. The other names (hard links) of a file keep its old content: an agent may have
        made them, and package managers share files between projects so. Raises `WorkspaceError`.
        """
        with self._parent(path, make=True) as (parent, name), _told(path):
            temporary = f".agentrt-{secrets.token_hex(8)}"
            descriptor = os.open(temporary, _WRITE, 0o666, dir_fd=parent)
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()  # before the mode is set: a write removes set-user-id bits
                    with suppress(FileNotFoundError):
                        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
                        _check_kind(found, path)
                        os.fchmod(file.fileno(), stat.S_IMODE(found.st_mode) & bits)
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                os.unlink(temporary, dir_fd=parent)
                raise

    def leads_to(self, path: str) -> str:
        """Return a path with the links in all but its last part followed, relative to the root. Parts that do not exist
        stay as they are. Raises `WorkspaceError`.
        """
        parts = parts_of(path)
        for kept in range(len(parts) - 1, -1, -1):
            with ExitStack() as opened, _told(path):
                try:
                    directory, _ = _walk(opened, self._root, self._name, parts[:kept])
                except FileNotFoundError:
                    continue  # it would be made
                real = os.path.relpath(os.readlink(f"/proc/self/fd/{directory}"), os.path.realpath(self._name))
                return os.path.normpath("/".join((real, *parts[kept:])))
        return path

    def real(self, path: str) -> str:
        """Return the absolute path, without links in it, of an existing file or directory. Raises `WorkspaceError`."""
        status = self.status(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            with self.directory(path) as descriptor:
                return os.readlink(f"/proc/self/fd/{descriptor}")
        with self._parent(path) as (parent, name), _told(path):
            os.stat(name, dir_fd=parent, follow_symlinks=False)
            return os.path.join(os.readlink(f"/proc/self/fd/{parent}"), name)

    def unlink(self, path: str) -> None:
        """Remove a file, or a link, which is not followed. Raises `WorkspaceError`."""
        with self.directory("/".join(parts_of(path)[:-1])) as parent, _told(path):
            os.unlink(parts_of(path)[-1], dir_fd=parent)

    def move(self, path: str, target: str) -> None:
        """Move a file to another path, where nothing is; missing directories are made. Raises `WorkspaceError`."""
        *above, new = parts_of(target)
        with (
            self.directory("/".join(above), make=True, file=new) as there,
            self._parent(path) as (parent, name),
        ):
            self._checked(target, there, new)
            with _told(path):
                _check_kind(os.stat(name, dir_fd=parent, follow_symlinks=False), path)
            with _told(target):
                with suppress(FileNotFoundError):
                    os.stat(new, dir_fd=there, follow_symlinks=False)
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                os.rename(name, new, src_dir_fd=parent, dst_dir_fd=there)

    def remove(self, path: str) -> None:
        """Remove the file that a path leads to, links followed. Raises `WorkspaceError`."""
        with self._parent(path) as (parent, name), _told(path):
            os.unlink(name, dir_fd=parent)

    @contextmanager
    def replacing(self, path: str) -> Iterator[io.BufferedWriter]:
        """Yield a file to write, which replaces the one at `path` if the body succeeds. Raises `WorkspaceError`.

        Missing directories are made; a link is replaced, not followed.
        """
        parts = parts_of(path)
        if not parts:
            raise _not_a_file(path)
        with self.directory("/".join(parts[:-1]), make=True) as parent, _told(path):
            mode, name, temporary = 0o666, parts[-1], f".{secrets.token_hex(8)}.upload"
            try:
                found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                pass
            else:
                if not stat.S_ISLNK(found.st_mode):
                    _check_kind(found, path)
                    mode = stat.S_IMODE(found.st_mode) & 0o777
            descriptor = os.open(temporary, _WRITE, mode, dir_fd=parent)
            try:
                with open(descriptor, "wb") as file:
                    yield file
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                os.unlink(temporary, dir_fd=parent)
                raise

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Yield the directory of what a path leads to, once links are followed, and its name there. With `make`,
        missing directories are made, once the place was checked.
        """
        parts = parts_of(path)
        if not parts:
            raise _not_a_file(path)
        with ExitStack() as opened, _told(path):
            making = partial(self._checked, path) if make else None
            parent, name = _walk(opened, self._root, self._name, parts, making, last=True)
            self._checked(path, parent, name)
            yield parent, name

    def _checked(self, path: str, parent: int, name: str) -> None:
        if self._check is not None:
            self._check(path, os.path.normpath(os.path.join(os.readlink(f"/proc/self/fd/{parent}"), name)))


def children(descriptor: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names in a directory, each with its status; links are not followed. Raises `OSError`."""
    with os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # gone meanwhile


def parts_of(path: str) -> list[str]:
    """Return the parts of a path. Raises `WorkspaceError` if it leads upwards, is absolute or is invalid."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise WorkspaceError("path-outside", "give a path relative to it, without '..'")
    if (
        "\0" in path
        or not _encodable(path)
        or any(len(os.fsencode(part)) > 255 for part in parts)
        or len(parts) > DEPTH
    ):
        raise WorkspaceError("path", "it is too long, or has characters that a path cannot have")
    return parts


def _walk(
    opened: ExitStack,
    root: str,
    name: str,
    parts: list[str],
    making: Callable[[int, str], None] | None = None,
    *,
    last: bool = False,
) -> tuple[int, str]:
    """Return the descriptor of a directory, which `opened` closes. With `last`, return that of the directory that holds
    the last part, and the name there, which is not a link. With `making`, missing directories are made; it is called
    before each, with the directory that is there and the rest of the way, and may raise an exception.
    """
    todo, links, steps = parts[::-1], 0, 0
    # only the root itself may be a link, because the server has chosen it
    trail = [os.open(root, _THROUGH & ~os.O_NOFOLLOW)]
    opened.callback(_close, trail)
    while todo:
        part = todo.pop()
        steps += 1
        if steps > STEPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if part == "..":
            if len(trail) == 1:
                raise _outside()
            os.close(trail.pop())
            continue
        try:
            found = os.stat(part, dir_fd=trail[-1], follow_symlinks=False)
        except FileNotFoundError:
            if last and not todo:
                return trail[-1], part
            if making is None:
                raise
            making(trail[-1], "/".join((part, *reversed(todo))))
            _make(part, trail[-1])
            found = os.stat(part, dir_fd=trail[-1], follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(part, dir_fd=trail[-1])
            links += 1
            if links > LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if target.startswith("/"):
                target = _below(target, name)
                while len(trail) > 1:
                    os.close(trail.pop())
            todo += [piece for piece in reversed(target.split("/")) if piece not in ("", ".")]
            continue
        if last and not todo:
            return trail[-1], part
        if len(trail) > DEPTH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        trail.append(os.open(part, _THROUGH, dir_fd=trail[-1]))
    if last:  # a link that leads to the directory itself, or upwards
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return trail[-1], ""


def _below(target: str, root: str) -> str:
    """Return an absolute path, as in a link, relative to the root. Raises `WorkspaceError` if it is not below it."""
    prefix = root.rstrip("/") + "/"
    if not f"{target}/".startswith(prefix):
        raise _outside()
    return target[len(prefix) :]


def _close(trail: list[int]) -> None:
    for descriptor in trail:
        os.close(descriptor)


def _make(name: str, parent: int) -> None:
    with suppress(FileExistsError):  # somebody else has just made it
        os.mkdir(name, dir_fd=parent)


def opened_in(directory: int, name: str, path: str) -> int:
    """Open a file of a directory for reading, no link, and return its descriptor, which the caller closes; `path` is
    its path in errors. Raises `OSError` or `WorkspaceError`.
    """
    _check_kind(os.stat(name, dir_fd=directory, follow_symlinks=False), path)
    descriptor = os.open(name, _READ, dir_fd=directory)
    try:
        _check_kind(os.fstat(descriptor), path)  # another file may have taken its place
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_kind(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _not_a_file(path)


def _not_a_file(path: str) -> WorkspaceError:
    return WorkspaceError("not-a-file", f"{path!r} is a directory, a device or a pipe")


def _outside() -> WorkspaceError:
    return WorkspaceError("path-outside", "a symbolic link in the path leads outside")


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


_CODES = {
    errno.ENOENT: "file-missing",
    errno.ENOTDIR: "not-a-directory",
    errno.EEXIST: "file-changed",
    errno.EISDIR: "not-a-file",
    errno.ENOTEMPTY: "not-a-file",
    errno.ELOOP: "path-outside",
    errno.EACCES: "file-permission",
    errno.EPERM: "file-permission",
    errno.EROFS: "file-permission",
    errno.EINVAL: "file-changed",
    errno.ENAMETOOLONG: "path",
    errno.ENOSPC: "disk-full",
    errno.EDQUOT: "disk-full",
    errno.EFBIG: "file-too-large",
    errno.EMFILE: "busy",
    errno.ENFILE: "busy",
}


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn `OSError`s into `WorkspaceError`s."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(_CODES.get(error.errno or 0, "file"), f"{printable(path)!r}: {error.strerror}") from error
