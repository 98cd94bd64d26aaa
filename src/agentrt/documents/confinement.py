"""Confinement of the worker: it has no network, starts no program, writes no file, reads only files of Python and its
libraries, and has limits of memory and time.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Sequence
from typing import Any

_REFUSED = (
    "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "pty.",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.chflags", "os.utime", "os.kill", "os.setxattr", "os.removexattr", "shutil.", "tempfile.", "urllib.", "http.",
    "ftplib.", "smtplib.", "poplib.", "imaplib.", "telnetlib.", "nntplib.", "webbrowser.", "sqlite3.", "syslog.",
    "signal.pthread_kill", "resource.setrlimit", "resource.prlimit", "winreg.",
)  # fmt: skip
"""Prefixes of the audit events (PEP 578) that are refused."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def limit(memory: int, seconds: int) -> None:
    """Limit this process: bytes of address space, seconds of CPU, and 5 s more than that on the clock. It can write no
    file and no core dump.
    """
    for which, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))
    signal.alarm(seconds + 5)  # the parent ends it sooner, unless the parent was killed


def refuse(readable: Sequence[str]) -> Any:
    """Return an audit hook that raises `PermissionError` for refused events, for writing a file, and for reading a file
    that is not below `readable`.
    """
    roots = tuple({os.path.realpath(path).rstrip("/") + "/" for path in readable if path})

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int):
                return
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _WRITES)
            if writes or not os.path.realpath(os.fsdecode(path)).startswith(roots):
                raise PermissionError(f"the worker opens no {os.fsdecode(path)!r}")
        elif event.startswith(_REFUSED):
            raise PermissionError(f"the worker does no {event}")

    return hook
