"""What a program sees behind the wall: the directories of this machine that are shown to it, as a list of `Mount`s.

Everything that is not named here is not there: other directories of people, stores, keys, and the sockets of servers in
`/run` and `/var`. The list is for bubblewrap (bwrap(1)), in the order in which it makes them.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import ToolError
from .environment import has_login
from .installed import is_in, search_path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Directories of programs and libraries."""

BROAD = frozenset(
    ("/", "/boot", "/dev", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/srv", "/sys", "/tmp")
) | {"/usr", "/usr/local", "/var", "/var/lib", "/var/tmp"}
"""Directories that hold much more than the programs that somebody has put there: none is shown as a tool chain."""

TOOL_CHAINS = (
    *("~/.pyenv", "~/.rustup", "~/.nvm", "~/.rbenv", "~/.sdkman", "~/.jenv", "~/.volta", "~/.asdf", "~/.local/bin"),
    *("~/.cargo/bin", "~/.deno/bin", "~/.bun/bin", "~/go/bin", "~/.local/share/uv", "~/.local/share/mise"),
    *("~/.local/pipx/venvs", "~/.local/share/pipx/venvs", "~/miniconda3", "~/miniforge3", "~/anaconda3"),
)
"""Directories in which people keep compilers and interpreters: shown if they are there and on `PATH`, or linked to."""

SETTINGS = ("~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore")
"""Files that programs need from a person's home, shown unless there is a password in them."""

KEYS = (
    *("~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.docker", "~/.config", "~/.netrc", "~/.pgpass"),
    *("~/.git-credentials", "~/.npmrc", "~/.pypirc", "~/.local/share/keyrings", "~/.mozilla", "~/.agentrt"),
    *("~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials", "~/.terraform.d"),
)
"""What is hidden if the workspace is the home directory itself, or holds it."""

_HIDDEN_FILES = re.compile(r"(?:shadow|gshadow|sudoers|opasswd)-?|.*_key|krb5\.keytab|.*\.keytab")
"""Names in /etc that nobody needs, whatever their modes are."""

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables that name files with public certificates."""

_MODULES = 64
"""Maximum number of submodules whose hooks are made read-only."""


class Mount(NamedTuple):
    """One entry of the list: `path` as it is seen inside.

    `kind` is "read" or "write" for `source` of this machine, "link" for a symbolic link to `source`, "empty" for a new
    directory in memory, and "blank" for a file without content. `held` is a descriptor of the source, which stands for
    it whatever is put in its place.
    """

    kind: str
    path: str
    source: str = ""
    held: int = -1


class Shown(NamedTuple):
    """What a box shows besides the system: paths of this machine, the same inside unless they are said to be private.

    `home` and `temporary` are the directories of this machine that stand for the home and for `/tmp`; `given` is one
    that this process writes for programs inside, and `written` one that they may write, too. `hidden` are directories,
    such as a store, that are covered wherever they are.
    """

    workspace: str
    home: str
    temporary: str
    given: str
    written: str
    hidden: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()


def bwrap_options(mounts: Iterable[Mount], first: int = 0) -> list[str]:
    """Return the options of bwrap(1) that make mounts. It has those that are held as descriptors from `first` on."""
    options = list[str]()
    for kind, path, source, held in mounts:
        if held >= 0:
            source, first = f"/proc/self/fd/{first}", first + 1
        match kind:
            case "read":
                options += ("--ro-bind", source or path, path)
            case "write":
                options += ("--bind", source or path, path)
            case "link":
                options += ("--symlink", source, path)
            case "blank":
                options += ("--ro-bind", os.devnull, path)
            case _:
                options += ("--tmpfs", path)
    return options


def box_mounts(shown: Shown, holding: ExitStack) -> list[Mount]:
    """Return what the programs of a conversation see; `holding` closes what is held. For a thread."""
    home, workspace = os.path.expanduser("~"), os.path.realpath(shown.workspace)
    real_home = os.path.realpath(home)
    mounts = [*system_mounts(), *_PRIVATE, Mount("write", "/tmp", shown.temporary)]
    at_home = is_in(real_home, workspace)
    if not at_home and home != "/":
        mounts.append(Mount("write", home, shown.home))
        mounts += _settings()
    mounts += [Mount("write", path) for path in map(os.path.expanduser, shown.caches) if os.path.isdir(path)]
    mounts += tool_chains(_trusted(search_path(), workspace))
    mounts += _chains_of_links(workspace)
    mounts.append(Mount("write", shown.workspace, workspace))
    if workspace != shown.workspace:
        mounts.append(Mount("write", workspace))
    mounts += protected(workspace, holding)
    prefixes = [path for path in _ours() if is_in(path, workspace) and _is_prefix(path)]
    keys = [path.replace("~", real_home, 1) for path in KEYS] if at_home else []
    shows = [mount.source or mount.path for mount in mounts if mount.kind in ("read", "write")]
    hidden = [path for path in (*keys, *map(os.path.realpath, shown.hidden)) if any(is_in(path, one) for one in shows)]
    mounts += _pinned([*prefixes, *hidden], workspace)
    mounts += [Mount("read", path) for path in prefixes]
    mounts += _covers(hidden)
    mounts += (Mount("read", shown.given), Mount("write", shown.written))
    _refuse_links(mounts, shown, home)
    return mounts


def _pinned(paths: Iterable[str], workspace: str) -> Iterator[Mount]:
    """Yield the directories between a workspace and some paths in it.

    A mount point cannot be moved away; a directory that it is in could be.
    """
    above = {place for path in paths if is_in(path, workspace) for place in map(str, Path(path).parents)}
    for place in sorted(above):
        if place != workspace and is_in(place, workspace) and os.path.isdir(place):
            yield Mount("write", place)


def _refuse_links(mounts: Iterable[Mount], shown: Shown, home: str) -> None:
    """Raise `ToolError` if a program has put a link on the way to a mount: bwrap(1) would follow it to this machine."""
    own = {home: shown.home, "/tmp": shown.temporary, os.path.realpath(shown.workspace): ""}
    for mount in mounts:
        for place, source in own.items():
            if mount.path != place and is_in(mount.path, place):
                way = source or place
                for part in mount.path[len(place.rstrip("/")) + 1 :].split("/"):
                    way = f"{way}/{part}"
                    if os.path.islink(way):
                        raise ToolError(f"{mount.path} leads elsewhere in the box by a link: remove it, or begin anew")


def reading(mounts: Iterable[Mount], shown: Shown) -> list[Mount]:
    """Return the same with nothing writable but memory, and without a home. What is held is in the workspace, which is
    read-only.
    """
    left_out = (shown.given, shown.written)
    plain = [
        Mount("empty", mount.path) if mount.source == shown.home else mount
        for mount in mounts
        if mount.held < 0 and mount.path not in left_out
    ]
    return [mount._replace(kind="read") if mount.kind == "write" else mount for mount in plain]


def reader_mounts(reads: Collection[str], writes: Collection[str]) -> list[Mount]:
    """Return what a program sees that only reads: some paths, and those that it may write. For a thread."""
    path = search_path()
    return [
        *system_mounts(),
        *_PRIVATE,
        Mount("empty", "/tmp"),
        *tool_chains(path),
        *(Mount("read", one) for one in sorted(reads)),
        *(Mount("write", one) for one in sorted(writes)),
    ]


_PRIVATE = (Mount("empty", "/dev/shm"), Mount("empty", "/var/tmp"))


def system_mounts() -> tuple[Mount, ...]:
    """Return the system's own directories. For a thread: it looks at /etc, and again once an entry was replaced."""
    return _system_mounts(os.stat("/etc").st_mtime_ns)


@lru_cache(1)
def _system_mounts(changed: int) -> tuple[Mount, ...]:
    found = list[Mount]()
    for place in SYSTEM:
        if os.path.islink(place):
            found.append(Mount("link", place, os.readlink(place)))
        elif os.path.isdir(place):
            found.append(Mount("read", place))
    found.append(Mount("read", "/etc"))
    found += _covers(_secrets("/etc"))
    for name in ("/etc/resolv.conf", *(os.environ.get(name, "") for name in _CERTIFICATES)):
        real = os.path.realpath(name) if name else ""
        if real and os.path.exists(real) and not is_in(real, "/etc") and not is_in(real, "/usr"):
            found.append(Mount("read", real))
            if os.path.isabs(name) and not is_in(name, "/etc") and name != real:
                found.append(Mount("read", name, real))
    return tuple(found)


@cache
def tool_chains(path: str) -> tuple[Mount, ...]:
    """Return the tool chains outside of the system: those of `PATH`, of this Python, and where their links lead. For a
    thread.

    None of `path` may be in a workspace: an agent's link there would show the place where it leads.
    """
    home, wanted = os.path.expanduser("~"), dict[str, None]()
    for place in dict.fromkeys((*path.split(os.pathsep), *_ours())):
        if os.path.isabs(place) and os.path.isdir(place):
            for one in (place, *_led_to(place)):
                wanted[_known(one) or one] = None
    shown = [one for one in wanted if _is_plain(one, home)]
    return tuple(
        Mount("read", one) for one in sorted(shown) if not any(one != other and is_in(one, other) for other in shown)
    )


def _trusted(path: str, workspace: str) -> str:
    """Return a `PATH`, with the active virtual environment, without what is in a workspace."""
    places = (*path.split(os.pathsep), os.environ.get("VIRTUAL_ENV", ""))
    return os.pathsep.join(place for place in places if place and not is_in(os.path.realpath(place), workspace))


def _chains_of_links(workspace: str) -> list[Mount]:
    """Return the tool chains that a virtual environment in a workspace uses: only known ones, since an agent may have
    made its links.
    """
    places = (*os.environ.get("PATH", "").split(os.pathsep), os.environ.get("VIRTUAL_ENV", ""), f"{workspace}/.venv")
    inside = [place for place in places if place and is_in(os.path.realpath(place), workspace)]
    found = {_known(one) for place in inside for one in _led_to(place)}
    return [Mount("read", chain) for chain in sorted(filter(None, found)) if os.path.isdir(chain)]


def _known(path: str) -> str | None:
    """Return the tool chain of people that holds a path."""
    return next((chain for chain in map(os.path.expanduser, TOOL_CHAINS) if is_in(path, chain)), None)


def protected(workspace: str, holding: ExitStack) -> Iterator[Mount]:
    """Yield the repository of a workspace, which cannot be moved away, and its hooks, which cannot be written.

    `holding` closes their descriptors: a program of another conversation may put links in their place meanwhile.
    """
    path = os.path.join(workspace, ".git")
    if (repository := _held(path, None, holding)) is None:
        return
    kind = os.fstat(repository).st_mode
    if stat.S_ISREG(kind):  # a worktree, or a submodule
        directory = linked_repository(path)
        if directory is None or (held := _held(directory, None, holding)) is None or not _names(held, path, holding):
            return
        yield Mount("read", path, held=repository)
        path, repository = directory, held
    elif not stat.S_ISDIR(kind):
        return
    yield Mount("write", path, held=repository)
    seen = set[str]()
    for hooks in ("hooks", *_hooks_of_modules(repository)):
        held, place, above = repository, "", list[Mount]()
        for part in hooks.split("/"):
            found, place = _held(part, held, holding), f"{place}/{part}"
            if found is None or not stat.S_ISDIR(os.fstat(found).st_mode):
                break
            held = found
            above.append(Mount("write", f"{path}{place}", held=held))
        else:
            for mount in above[:-1]:
                if mount.path not in seen:
                    seen.add(mount.path)
                    yield mount
            yield above[-1]._replace(kind="read")


def _names(repository: int, file: str, holding: ExitStack) -> bool:
    """Return whether one of the worktrees of a repository is that of a file, for sure in this directory itself."""
    place = _held("worktrees", repository, holding)
    if place is None or not stat.S_ISDIR(os.fstat(place).st_mode):
        return False
    for name in os.listdir(f"/proc/self/fd/{place}"):
        one = _held(name, place, holding)
        with suppress(OSError):
            given = -1 if one is None else os.open("gitdir", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=one)
            if given >= 0:
                with open(given, errors="surrogateescape") as told:
                    if os.path.realpath(told.read().strip()) == os.path.realpath(file):
                        return True
    return False


def _held(path: str, above: int | None, holding: ExitStack) -> int | None:
    """Return a descriptor of what is at a path, and no link is followed there; None if nothing is."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    except OSError:
        return None
    holding.callback(os.close, descriptor)
    return descriptor


def linked_repository(file: str) -> str | None:
    """Return the repository of a linked worktree (gitrepository-layout(5)), if it names that worktree, too, and is
    outside of it: what is in a workspace alone shows nothing else.
    """
    try:
        given = Path(file).read_text(errors="surrogateescape").strip()
        if not given.startswith("gitdir: "):
            return None
        own = os.path.realpath(os.path.join(os.path.dirname(file), given.removeprefix("gitdir: ")))
        back = Path(own, "gitdir").read_text(errors="surrogateescape").strip()
        common = Path(own, "commondir").read_text(errors="surrogateescape").strip()
    except (OSError, ValueError):
        return None
    if os.path.realpath(os.path.join(own, back)) != os.path.realpath(file):
        return None
    repository = os.path.realpath(os.path.join(own, common))
    if is_in(own, os.path.realpath(os.path.dirname(file))):
        return None
    return repository if os.path.dirname(own) == os.path.join(repository, "worktrees") else None


def _hooks_of_modules(repository: int) -> list[str]:
    found = list[str]()
    with suppress(OSError):
        for above, directories, _, _ in os.fwalk("modules", dir_fd=repository):
            if "hooks" in directories:
                found.append(f"{above}/hooks")
                directories[:] = [name for name in directories if name == "modules"]
            if len(found) >= _MODULES:
                break
    return found


def _settings() -> Iterator[Mount]:
    for path in map(os.path.expanduser, SETTINGS):
        try:
            text = Path(path).read_text(errors="replace")
        except OSError:
            continue
        if not has_login(text):
            yield Mount("read", path, os.path.realpath(path))


def _secrets(directory: str) -> Iterator[str]:
    """Yield what not everybody may read below a directory, and what has the name of a key.

    What is empty, or what this user cannot read either, needs no cover: each costs half a millisecond of a box.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISLNK(status.st_mode):
                continue
            is_directory = stat.S_ISDIR(status.st_mode)
            needed = stat.S_IROTH | stat.S_IXOTH if is_directory else stat.S_IROTH
            if (
                status.st_mode & needed != needed
                or _HIDDEN_FILES.fullmatch(entry.name)
                or stat.S_ISSOCK(status.st_mode)
            ):
                if os.access(entry.path, os.R_OK) and (status.st_size or not stat.S_ISREG(status.st_mode)):
                    yield entry.path
            elif is_directory:
                yield from _secrets(entry.path)


def _covers(paths: Iterable[str]) -> list[Mount]:
    return [Mount("empty" if os.path.isdir(path) else "blank", path) for path in paths if os.path.lexists(path)]


def _ours() -> tuple[str, ...]:
    """Return where this Python is, and this package."""
    package = Path(__file__).parent.parent
    libraries = (str(package.parent),) if package.parent.name == "site-packages" else ()
    return (sys.prefix, sys.base_prefix, sys.exec_prefix, str(package), *libraries)


def _is_prefix(path: str) -> bool:
    return path in (sys.prefix, sys.base_prefix, sys.exec_prefix)


def _led_to(directory: str) -> Iterator[str]:
    """Yield the directories to which the links in a directory of programs lead: `lib` and `bin` are beside each other,
    so it is the one above `bin`.
    """
    seen = set[str]()
    if os.path.basename(directory) not in ("bin", "sbin", "shims", "Scripts"):
        directory = os.path.join(directory, "bin")
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_symlink():
                    place = os.path.dirname(os.path.realpath(entry.path))
                    seen.add(os.path.dirname(place) if os.path.basename(place) in ("bin", "sbin") else place)
    except OSError:
        return
    yield from sorted(seen)


def _is_plain(path: str, home: str) -> bool:
    """Return whether a directory may be shown: it is not the system's, and holds nothing that is hidden."""
    real = os.path.realpath(path)
    if any(is_in(real, place) for place in SYSTEM) or not os.path.isdir(real):
        return False
    return not any(is_in(hidden, one) for one in (path, real) for hidden in (*BROAD, home, *_kept_from(home)))


def _kept_from(home: str) -> Iterator[str]:
    return (path.replace("~", home, 1) for path in KEYS)


def options_of(mounts: Iterable[Mount], *, network: bool, first: int = 0) -> list[str]:
    """Return the options of bwrap(1) for a wall with these mounts; see `bwrap_options` for `first`."""
    return [
        *(
            "--unshare-user",
            "--disable-userns",
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ),
        *(() if network else ("--unshare-net",)),
        *("--cap-drop", "ALL", "--clearenv", "--hostname", "box"),
        *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"),
        *bwrap_options(mounts, first),
    ]
