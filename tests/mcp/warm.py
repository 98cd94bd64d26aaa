"""Servers that start at once: each is forked from one process that has loaded the library, which takes 0.9 s of CPU."""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
SOCKET = f"{tempfile.gettempdir()}/agentrt-warm-{os.getpid()}"

LOADED = ("mcp.server.mcpserver", "mcp.server.stdio", "rich.logging", "uvicorn.protocols.http.auto")
"""The modules that all servers load."""

MOST = 1 << 20
"""Bytes of a request."""


def warm(module: str, *words: str) -> list[str]:
    """A command that does what `python -m MODULE WORDS` does. It needs the fixture `warm_servers`."""
    return [sys.executable, "-IS", str(Path(__file__).with_name("start.py")), SOCKET, module, *words]


def server_of(module: str = "tests.mcp.server") -> dict[str, Any]:
    """The configuration of a server of this package. It needs the fixture `warm_servers`."""
    command, *words = warm(module)
    return {"command": command, "args": words, "cwd": str(ROOT)}


@contextmanager
def warmed() -> Iterator[None]:
    """Have a process run from which servers are forked."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(SOCKET)
        listening.listen(100)
        command = [sys.executable, "-m", "tests.mcp.warm", str(listening.fileno())]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, pass_fds=[listening.fileno()])
    try:
        yield
    finally:
        os.unlink(SOCKET)
        process.communicate()


def serve(listening: socket.socket) -> None:
    """Fork for each request, until standard input has ended."""
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or a collection in a server touches, and so copies, all pages
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while 0 not in select.select([listening.fileno(), 0], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _mind(connection)
        connection.close()


def _mind(connection: socket.socket) -> None:
    """Run a module in a process of its own and tell its exit code, or kill it once nobody waits for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, fds, _, _ = socket.recv_fds(connection, MOST, 3)
    child = os.fork()
    if child == 0:
        connection.close()
        _run(message.decode(errors="surrogateescape"), fds)
    for fd in (*fds, 0, 1, 2):
        os.close(fd)
    waits = connection.fileno()
    if waits in select.select([os.pidfd_open(child), waits], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        connection.send(str(code).encode())
    finally:
        os._exit(0)


def _run(message: str, fds: list[int]) -> None:
    """Become the process of a request."""
    head, _, variables = message.partition("\0\0")
    place, *sys.argv = head.split("\0")
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update({name: value for name, _, value in (one.partition("=") for one in variables.split("\0")) if name})
    os.chdir(place)
    sys.path[:1] = [place, *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    code = 1
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
