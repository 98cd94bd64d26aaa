"""Namespaces of its own for a program, where bubblewrap is missing: `unshare`, then in the first process `build`.

The zygote loads this file by itself, in the copy of it that needs it: it imports nothing of the package. The mounts are
those that bwrap(1) makes of the same list. Everything that is shown is held by a descriptor before the new root
is entered, and the old one is left before a path of it is walked: no link leads back to this machine.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence

_NEW_MOUNTS, _NEW_CGROUP, _NEW_UTS, _NEW_IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEW_USER, _NEW_PID, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CLONE_TREE, _RECURSIVE, _EMPTY_PATH, _FROM_DESCRIPTOR = 1, 0x8000, 0x1000, 4
_READ_ONLY, _NO_SET_ID, _NO_DEVICES = 1, 2, 4
_SLAVE, _WHOLE, _DETACHED = 1 << 19, 1 << 14, 2
_HERE = -100

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""The devices that programs see in /dev."""

_READABLE = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
"""What of /proc cannot be written."""

_library = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, doing: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), doing)
    return result


def unshare(network: bool) -> None:
    """Leave the namespaces of this machine. What this process starts next is the first process of its own."""
    flags = _NEW_USER | _NEW_MOUNTS | _NEW_PID | _NEW_IPC | _NEW_UTS | _NEW_CGROUP | (0 if network else _NEW_NETWORK)
    user, group = os.geteuid(), os.getegid()
    _checked(_library.unshare(flags), "new namespaces")
    _map(user, group)


def _map(user: int, group: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def build(given: Sequence[tuple[bytes, bytes, bytes]]) -> None:
    """Make the new root of mounts (kind, path, source), as `mounts.Mount` has them, and enter it."""
    mounts = [(kind.decode(), os.fsdecode(path), os.fsdecode(source)) for kind, path, source in given]
    _mount(None, "/", None, _SLAVE | _WHOLE)
    trees = {at: _tree(source or path, kind) for at, (kind, path, source) in enumerate(mounts) if kind in _HELD}
    devices = {name: _tree(f"/dev/{name}", "device") for name in DEVICES}
    nothing = [_tree(os.devnull, "blank") for kind, _, _ in mounts if kind == "blank"]
    _enter_empty_root()
    _make_devices(devices)
    for at, (kind, path, source) in enumerate(mounts):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "link":
            os.symlink(source, path)
        elif kind == "empty":
            os.makedirs(path, exist_ok=True)
            _mount("tmpfs", path, "tmpfs", _NO_SET_ID | _NO_DEVICES, "mode=0755")
        else:
            _attach(nothing.pop() if kind == "blank" else trees[at], path)
    _checked(_library.sethostname(b"box", 3), "a host name")
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("1")
    for path in _READABLE:
        if os.path.exists(path):
            _attach(_tree(path, "read"), path)
    _nest()


_HELD = ("read", "write")


def _enter_empty_root() -> None:
    """Have an empty directory as root, with a /proc of the new processes. The old root is gone then."""
    place = "/usr"  # some directory that is there
    _mount("tmpfs", place, "tmpfs", _NO_SET_ID | _NO_DEVICES, "mode=0755")
    os.chdir(place)
    for name in ("old", "proc", "dev"):
        os.mkdir(name)
    number = _PIVOT_ROOT.get(os.uname().machine, -1)
    _checked(_library.syscall(number, b".", b"old"), "a new root")
    os.chdir("/")
    _mount("proc", "/proc", "proc", _NO_SET_ID | _NO_DEVICES | 8)
    _checked(_library.umount2(b"/old", _DETACHED), "leaving the old root")
    os.rmdir("/old")


def _make_devices(devices: dict[str, int]) -> None:
    _mount("tmpfs", "/dev", "tmpfs", _NO_SET_ID, "mode=0755")
    for name, tree in devices.items():
        _attach(tree, f"/dev/{name}")
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"), ("core", "kcore")):
        os.symlink(f"/proc/{'' if name == 'core' else 'self/'}{target}", f"/dev/{name}")
    os.mkdir("/dev/pts")
    os.mkdir("/dev/shm")
    _mount("devpts", "/dev/pts", "devpts", _NO_SET_ID | 8, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", "/dev/ptmx")


def _nest() -> None:
    """Enter a second user namespace, in which there are no more: what is mounted belongs to the first."""
    user, group = os.geteuid(), os.getegid()
    _checked(_library.unshare(_NEW_USER), "a second user namespace")
    _map(user, group)


def _tree(path: str, kind: str) -> int:
    """Return a descriptor of a copy of the mounts at a path, with no more rights than its kind has."""
    flags = ctypes.c_uint(_CLONE_TREE | _RECURSIVE | os.O_CLOEXEC)
    tree = _checked(_library.syscall(_OPEN_TREE, _HERE, os.fsencode(path), flags), path)
    kept = 0 if kind == "device" else _NO_DEVICES
    attributes = (ctypes.c_uint64 * 4)(_NO_SET_ID | kept | (0 if kind in ("device", "write") else _READ_ONLY))
    wanted = ctypes.c_uint(_EMPTY_PATH | _RECURSIVE)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _checked(_library.syscall(_MOUNT_SETATTR, tree, b"", wanted, ctypes.byref(attributes), size), path)
    return tree


def _attach(tree: int, path: str) -> None:
    """Show a copy at a path, whose directory is there."""
    if not os.path.lexists(path):
        if os.path.isdir(f"/proc/self/fd/{tree}"):
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    flags = ctypes.c_uint(_FROM_DESCRIPTOR)
    _checked(_library.syscall(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(path), flags), path)
    os.close(tree)


def _mount(source: str | None, path: str, kind: str | None, flags: int, options: str = "") -> None:
    words: Iterable[bytes | None] = (None if one is None else os.fsencode(one) for one in (source, path, kind))
    _checked(_library.mount(*words, ctypes.c_ulong(flags), options.encode() or None), f"mounting {path}")
