"""`TreeStore`: a git directory with its own objects, indexes and configuration, and the git commands that run in it.

Nothing of a workspace's own repository is read, written or run: the configuration here has no filter, hook or
conversion, and its attributes take precedence over those of the workspace (gitattributes(5)).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

import anyio.to_thread
import msgspec

from ..errors import WorkspaceError
from ..sandboxes.installed import is_installed
from ..sandboxes.programs import Printed, printed
from .object_journal import ObjectJournal, replay
from .objects import Objects
from .pipes import Pipes

SECONDS = 120.0
"""Time limit of a git command, which for the first tree reads all files."""

OUTPUT = 64 << 20
"""Maximum number of bytes of git's output."""

_CONFIG = """\
[core]
\trepositoryFormatVersion = 0
\tbare = false
\tautocrlf = false
\tsafecrlf = false
\tsymlinks = true
\tfileMode = true
\tignoreCase = false
\tuntrackedCache = true
\tfsmonitor = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tlooseCompression = 1
\tfsync = loose-object,pack,pack-metadata
\tfsyncMethod = batch
\tquotePath = false
\tprotectNTFS = false
\tprotectHFS = false
[index]
\tversion = 4
[gc]
\tauto = 0
[advice]
\taddEmbeddedRepo = false
"""
_ATTRIBUTES = "* -text -eol -crlf -ident -filter -working-tree-encoding !diff !merge\n"
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    # a missing object may be promised by a remote, and a remote's URL may name a program
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    # mallopt(3): otherwise `update-index` returns memory to the system after each file, and takes it again
    "MALLOC_TOP_PAD_": str(8 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}


INDEX = "index"
MODES = "modes"
SETTINGS = "settings.json"
"""The files of a store with what is known of the workspace's files; without an index, it has none."""
_NO_FILES = "nothing"
"""An empty directory of the store, in which git runs if it does not need the files of the workspace."""


class Settings(msgspec.Struct, frozen=True):
    """What is known about the workspace from the trees kept so far."""

    ignored: bool = True
    """Whether ignored files are kept."""
    nested: tuple[str, ...] = ()
    """The repositories in the workspace whose files are kept."""
    others: tuple[str, ...] = ()
    """The other repositories, which are left out for good."""
    stored: int = 0
    """Bytes of the files kept so far; a file counts again each time it changes."""


class TreeStore:
    """The git directory for one workspace."""

    def __init__(self, directory: str, origins: Sequence[str] = ()) -> None:
        # absolute, because git runs in another directory
        self._directory, self._origins = Path(os.path.abspath(directory)), [os.path.abspath(one) for one in origins]
        self._ready, self._pipes = False, Pipes()
        self._journal = ObjectJournal(self._directory)

    @property
    def index(self) -> str:
        """The path of the workspace's index."""
        return str(self._directory / INDEX)

    @property
    def has_files(self) -> bool:
        """Whether files were ever kept. For a thread."""
        return any((self._directory / name).exists() for name in (INDEX, SETTINGS))

    @property
    def continues(self) -> bool:
        """Whether some objects are in the stores that this one continues."""
        return bool(self._origins)

    def index_of(self, name: str) -> str:
        """Return the path of another index, such as that of a nested repository."""
        return str(self._directory / "indexes" / sha256(name.encode("utf-8", "surrogateescape")).hexdigest())

    async def prepare(self, *, writes: bool = False) -> Settings | None:
        """Set up the directory in a thread, as `set_up` does."""
        return await anyio.to_thread.run_sync(partial(self.set_up, writes=writes))

    def set_up(self, *, writes: bool = False) -> Settings | None:
        """Set up the directory; with `writes`, also remove the locks of a git that died. For a thread.

        Return the saved settings; None if there are none. Raises `WorkspaceError`.
        """
        try:
            settings = self._prepare(writes)
        except OSError as error:
            raise _unusable(error, self._directory) from error
        self._ready = True
        return settings

    def note(self, settings: Settings) -> None:
        """Save the settings. For a thread."""
        self._write(SETTINGS, msgspec.json.encode(settings))

    async def git(
        self,
        *arguments: str,
        index: str | None = None,
        tree: str | None = None,
        given: bytes = b"",
        check: bool = True,
        most: int = OUTPUT,
        writes: str = "",
    ) -> Printed:
        """Run git and return its output. `index` replaces the workspace's index; `tree` is the directory of the files,
        if the command needs them, and `writes` one that it may write besides the store. Raises `WorkspaceError`.
        """
        from ..sandboxes.here import THIS_MACHINE  # no program is run by an import

        if not self._ready:
            await self.prepare()
        try:
            alternates = await anyio.to_thread.run_sync(self._written)
        except OSError as error:
            raise _unusable(error, self._directory) from error
        place = tree or str(self._directory / _NO_FILES)
        environment = {
            **_ENVIRONMENT,
            "HOME": str(self._directory),
            "GIT_DIR": str(self._directory),
            "GIT_WORK_TREE": place,
            "GIT_INDEX_FILE": index or self.index,
        }
        command = ["git", *arguments]
        try:
            async with self._pipes.passed(tree) if tree else nullcontext():
                said = await printed(
                    THIS_MACHINE,
                    command,
                    cwd=place,
                    environment=environment,
                    seconds=SECONDS,
                    most=most,
                    given=given,
                    reads=alternates,
                    writes=(str(self._directory), *([writes] if writes else [])),
                )
        except (TimeoutError, anyio.get_cancelled_exc_class()) as error:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._unlock)
            if not isinstance(error, TimeoutError):
                raise
            raise WorkspaceError("git-timeout", f"no answer within {SECONDS:g} s") from error
        except FileNotFoundError as error:
            if not await anyio.to_thread.run_sync(os.path.isdir, place):
                raise WorkspaceError("file-missing", f"{place} is not there") from error
            raise _without_git() from error
        except OSError as error:
            raise WorkspaceError("file", f"{place}: {error.strerror}") from error
        if said.cut and most == OUTPUT:
            raise WorkspaceError("git-too-large", f"git {arguments[0]} says more than {OUTPUT:,} bytes")
        if said.code < 0 and not said.cut:
            await anyio.to_thread.run_sync(self._unlock)
            raise WorkspaceError("git-failed", f"git {arguments[0]} was ended by signal {-said.code}")
        if check and said.code and not said.cut:
            why = said.errors.decode("utf-8", "replace").strip().split("\n")[-1]
            raise WorkspaceError("git-failed", f"git {arguments[0]} ended with {said.code}: {why}")
        return said

    def _written(self) -> list[str]:
        """Write the objects that git needs; return the directories of those in other stores. For a thread."""
        self._journal.write_files()
        return [place for place in _alternates(str(self._directory)) if os.path.isdir(place)]

    def note_modes(self, modes: Mapping[str, int]) -> None:
        """Save permissions in place of all that were saved. For a thread."""
        data = "".join(f"{mode:o} {path}\0" for path, mode in modes.items()).encode("utf-8", "surrogateescape")
        self._write(MODES, data)

    def modes(self) -> dict[str, int]:
        """Return the saved permissions, by path; if this store has none, those of the stores that it continues. For a
        thread.
        """
        for directory in (self._directory, *map(Path, self._origins)):
            with suppress(OSError):
                entries = (directory / MODES).read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
                return {path: int(mode, 8) for mode, _, path in (entry.partition(" ") for entry in entries)}
        return {}

    def objects(self) -> Objects:
        """Return access to the objects without git, once the directory is set up."""
        return Objects(self._directory, self._earlier(), self._journal)

    def _earlier(self) -> list[Path]:
        """Return the directories of all stores that this one continues."""
        return [Path(line).parent for line in _alternates(str(self._directory))]

    def _prepare(self, writes: bool) -> Settings | None:
        if writes:
            if not is_installed("git"):
                raise _without_git()
            self._unlock()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # git makes files that all may read
        for name in ("objects/info", "refs", "info", "indexes", _NO_FILES):
            (self._directory / name).mkdir(parents=True, exist_ok=True)
        self._write("config", _CONFIG.encode())
        self._write("HEAD", b"ref: refs/heads/none\n")
        self._write("info/attributes", _ATTRIBUTES.encode())
        if self._origins:
            lines = [line for origin in self._origins for line in (f"{origin}/objects", *_alternates(origin))]
            self._write("objects/info/alternates", "".join(f"{line}\n" for line in lines).encode())
        for directory in self._earlier():
            replay(directory)
        if writes:
            self._journal.settle()
        with suppress(FileNotFoundError, msgspec.MsgspecError):
            return msgspec.json.decode((self._directory / SETTINGS).read_bytes(), type=Settings)
        return None

    def _unlock(self) -> None:
        """Remove what a killed git has left."""
        for lock in (*self._directory.glob("*.lock"), *self._directory.glob("indexes/*.lock")):
            lock.unlink(missing_ok=True)
        for made in self._directory.glob("objects/??/tmp_obj_*"):
            made.unlink(missing_ok=True)
        for left in self._directory.glob("objects/tmp_objdir-*"):
            shutil.rmtree(left, ignore_errors=True)

    def _write(self, name: str, data: bytes) -> None:
        path = self._directory / name
        with suppress(FileNotFoundError):
            if path.read_bytes() == data:
                return
        made = path.with_name(f"{path.name}.new")
        made.write_bytes(data)
        made.replace(path)


def _unusable(error: OSError, directory: Path) -> WorkspaceError:
    return WorkspaceError("file", f"{error.filename or directory}: {error.strerror}")


def _without_git() -> WorkspaceError:
    return WorkspaceError("git-not-installed", "no files are kept without it")


def entries(index: str) -> int:
    """Return the number of files in an index (git's index-format.adoc); 0 if there is none. For a thread."""
    with suppress(OSError), open(index, "rb") as file:
        return int.from_bytes(file.read(12)[8:])
    return 0


def _alternates(directory: str) -> list[str]:
    """Return the alternates of another store. They are listed here because git follows only a chain of five."""
    with suppress(OSError):
        return Path(directory, "objects/info/alternates").read_text().splitlines()
    return []


def excluding(paths: Iterable[str]) -> list[str]:
    """Return pathspecs that exclude directories, by their paths relative to the top of the work tree."""
    return [f":(exclude,top,literal){path}" for path in paths]
