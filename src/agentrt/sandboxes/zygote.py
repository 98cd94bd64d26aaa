"""A program that starts others, on request and at once: inside the namespaces of a box, or as they are.

It is started once for each runtime, with an empty environment and nothing of the runtime's in its memory. For each
request it makes a copy of itself, which joins the box, makes the program and ends. All of them are children of the
runtime (`CLONE_PARENT`), so the program is its child with its real number: signals, terminals and waiting are as ever.

For a box of our own making the copy leaves the namespaces of this machine instead (`unsharing.py`), and the program is
the first process of its own.

A request is one byte on the socket that is its standard input, "." or, if the copy is not the program, "w"; with
descriptors: a pipe to answer on, a file with the request (`marshal`), the program's three streams, and for a box a
handle of its first process (pidfd). The answer are lines: `wait N`, a child to wait for; `program N`, the program;
`failed ERRNO WORDS`. The end of the pipe without the last one says that the program runs.

Only the standard library is imported: it runs by its path, isolated (`python -I -S`).
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import gc
import marshal
import os
import signal
import socket
from importlib.machinery import SourceFileLoader
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

NUMBERS = {"x86_64": (56, 126), "aarch64": (220, 91)}
"""The numbers of clone and capset (asm/unistd.h)."""

SPACES = ("ipc", "uts", "net", "mnt", "pid")
"""The namespaces of a box that the outer one of its two user namespaces owns."""

_CLONE_PARENT = 0x8000
_NS_GET_PARENT = 0xB702
_SET_DUMPABLE, _SET_SECCOMP, _BOUNDING_DROP, _SUBREAPER, _NO_NEW_PRIVILEGES = 4, 22, 24, 36, 38
_CAPABILITIES = 64
_VERSION_3 = 0x20080522


def loaded(name: str) -> Any:
    """Return a module that is beside this file."""
    module = ModuleType(name)
    SourceFileLoader(name, os.path.join(os.path.dirname(__file__), f"{name}.py")).exec_module(module)
    return module


landlock = loaded("landlock")
_library = ctypes.CDLL(None, use_errno=True)
_clone, _capset = NUMBERS.get(os.uname().machine, (0, 0))


def checked(result: int, doing: str) -> int:
    """Return the result of a call of the C library. Raises `OSError` with what was being done."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), doing)
    return result


def copied() -> int:
    """Return the number of a copy of this process whose parent is ours, and 0 in the copy."""
    if not _clone:
        raise OSError(38, "this processor is not known", "clone")
    flags = ctypes.c_long(_CLONE_PARENT | signal.SIGCHLD)
    return checked(_library.syscall(_clone, flags, *[ctypes.c_long(0)] * 4), "clone")


def is_own(first: int, name: str) -> bool:
    """Return whether a process is in this process's namespace of a kind."""
    return os.stat(f"/proc/{first}/ns/{name}").st_ino == os.stat(f"/proc/self/ns/{name}").st_ino


def join(first: int, handle: int) -> None:
    """Join the namespaces of a box; `first` is its first process."""
    own = os.stat("/proc/self/ns/user").st_ino
    try:
        inner = os.open(f"/proc/{first}/ns/user", os.O_RDONLY)
        spaces = {name: os.open(f"/proc/{first}/ns/{name}", os.O_RDONLY) for name in SPACES if not is_own(first, name)}
    except FileNotFoundError:
        raise ProcessLookupError(3, "the box is gone") from None
    signal.pidfd_send_signal(handle, 0)  # it still runs, so these are its namespaces
    outer = fcntl.ioctl(inner, _NS_GET_PARENT)
    if os.fstat(outer).st_ino != own:
        checked(_library.setns(outer, 0), "joining the outer user namespace")
    for name, space in spaces.items():
        checked(_library.setns(space, 0), f"joining the {name} namespace")
        os.close(space)
    checked(_library.setns(inner, 0), "joining the user namespace")


def confine(filtering: bytes, shown: list[tuple[bytes, str]] | None) -> None:
    """Give up every right that could lead out of the box, or away from what is `shown`, for this process and for all
    that it starts.
    """
    checked(_library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    for one in range(_CAPABILITIES):
        _library.prctl(_BOUNDING_DROP, one, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    checked(_library.syscall(_capset, ctypes.byref(header), (ctypes.c_uint32 * 6)()), "dropping capabilities")
    landlock.restrict(shown)
    if filtering:
        code = ctypes.create_string_buffer(filtering, len(filtering))
        program = (ctypes.c_uint64 * 2)(len(filtering) // 8, ctypes.addressof(code))
        checked(_library.prctl(_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "filtering system calls")


def become(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Become the program, in a session of its own."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    if request["adopts"]:
        _library.prctl(_SUBREAPER, 1, 0, 0, 0)
    if request["cwd"] is not None:
        os.chdir(request["cwd"])
    command, environment = request["command"], request["environment"]
    program, number = command[0], 2
    places = [b""] if b"/" in program else environment.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    if request["first"] or request["mounts"] is not None or request["shown"] is not None:
        confine(request["filter"], request["shown"] and [*request["shown"], *terminal_of(streams)])
    for place in places:
        path = os.path.join(place, program) if place else program
        try:
            os.execve(path, command, environment)
        except FileNotFoundError:
            if os.path.exists(path):  # a script whose interpreter is not there
                raise
        except NotADirectoryError:
            pass
        except PermissionError:
            number = 13
    raise OSError(number, os.strerror(number), os.fsdecode(program))


def terminal_of(streams: list[int]) -> list[tuple[bytes, str]]:
    """Return the path of the terminal that a program has, which it may open."""
    return [(os.fsencode(os.ttyname(streams[0])), landlock.WRITE)] if os.isatty(streams[0]) else []


def is_over(handle: int) -> bool:
    """Return whether a process has ended."""
    try:
        signal.pidfd_send_signal(handle, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def copy_on(answer: int) -> None:
    """Go on in a copy, whose number is answered: a process does not enter its new namespace of processes itself."""
    number = copied()
    if number:
        os.write(answer, b"program %d\n" % number)
        os._exit(0)


def serve_one(answer: int, streams: list[int], request: dict[str, Any], handle: int) -> NoReturn:
    """Answer one request, in a copy of this process, which ends with it."""
    try:
        if request["first"]:
            checked(_library.prctl(_SET_DUMPABLE, 0, 0, 0, 0), "hiding this process")
            join(request["first"], handle)
            copy_on(answer)
        elif request["mounts"] is not None:
            unsharing = loaded("unsharing")
            checked(_library.prctl(_SET_DUMPABLE, 1, 0, 0, 0), "showing this process to itself")
            unsharing.unshare(request["network"])
            copy_on(answer)
            unsharing.build(request["mounts"])
        become(request, streams)
    except OSError as error:
        where, number = os.fsencode(error.filename or "").replace(b"\n", b" "), error.errno or 5
        if request["first"] and is_over(handle):
            number = 3
        os.write(answer, b"failed %d %s\n" % (number, where))
    except BaseException as error:  # the runtime is told, whatever it is
        os.write(answer, b"failed 5 %s\n" % repr(error).encode("ascii", "replace"))
    os._exit(127)


def main() -> None:
    """Serve requests until the runtime is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = socket.socket(fileno=0)
    _library.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    gc.disable()
    gc.freeze()
    size = socket.CMSG_SPACE(6 * array.array("i").itemsize)
    while True:
        said, extra, _, _ = connection.recvmsg(1, size, socket.MSG_CMSG_CLOEXEC)
        if not said:
            return
        given = array.array("i")
        for level, kind, data in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                given.frombytes(data[: len(data) - len(data) % given.itemsize])
        answer, file, *rest = given
        try:
            number = copied()
            if not number:
                connection.detach()
                with open(os.dup(file), "rb") as stored:
                    stored.seek(0)
                    request = marshal.load(stored)
                os.close(0)
                serve_one(answer, rest[:3], request, rest[3] if len(rest) > 3 else -1)
            os.write(answer, b"%s %d\n" % (b"wait" if said == b"w" else b"program", number))
        except OSError as error:
            os.write(answer, b"failed %d clone\n" % (error.errno or 5))
        for one in given:
            os.close(one)


if __name__ == "__main__":
    main()
