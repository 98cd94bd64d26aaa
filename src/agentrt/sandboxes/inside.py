"""The executor: a program in a container that reads and writes files there and starts processes, as it is asked to.

It connects to a socket of the runtime and ends when that hangs up. A message is JSON in one packet; one that is larger
than `PACKET` is in a file in memory, whose descriptor is passed, as are contents of files and the pipes of processes.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

PACKET = 32_768
"""Maximum bytes of a message that is sent as it is."""

MOST_PASSED = 8
"""Maximum number of descriptors that are passed with a message."""

MOST_LARGE = 64 << 20
"""Maximum bytes of a message."""

MOST_CONTENT = 512 << 20
"""Maximum bytes of a file's content."""

THREADS = 16
"""Maximum number of requests that are carried out at once."""

CONNECT_SECONDS = 10.0
"""Seconds that a connection to a port or a socket may take."""

KILL_AFTER = 1.0
"""Seconds between TERM and KILL."""


def send(connection: socket.socket, message: dict[str, Any], passed: Sequence[int] = ()) -> None:
    """Send a message, and descriptors with it. Raises `OSError`."""
    data = json.dumps(message).encode()
    if len(data) <= PACKET:
        socket.send_fds(connection, [data], list(passed))
        return
    large = in_memory(data)
    try:
        socket.send_fds(connection, [b'{"large": true}'], [*passed, large])
    finally:
        os.close(large)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next message with its descriptors; None at the end.

    Raises `OSError`, as `BlockingIOError`, and `ValueError` for a message that is not one: then no descriptor is left.
    The other side may be a program of the agent's.
    """
    data, passed, flags, _ = socket.recv_fds(connection, 2 * PACKET, MOST_PASSED + 1, socket.MSG_CMSG_CLOEXEC)
    if not data and not passed:
        return None
    try:
        if flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC):
            raise ValueError("it is too large")
        message = json.loads(data)
        if isinstance(message, dict) and message.get("large"):
            message = json.loads(content(passed.pop(), MOST_LARGE)) if passed else None
        if not isinstance(message, dict) or not isinstance(message.get("id"), int):
            raise ValueError("it is not a message")
        return message, passed
    except BaseException:
        for descriptor in passed:
            os.close(descriptor)
        raise


def in_memory(data: bytes) -> int:
    """Return the descriptor of a file in memory with this content."""
    descriptor = os.memfd_create("agentrt")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def content(descriptor: int, most: int) -> bytes:
    """Return the content of a file in memory, and close it. Raises `ValueError` for another file, or more bytes."""
    with open(descriptor, "rb") as file:
        try:
            fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)  # only files in memory have seals: reading another could wait
        except OSError:
            raise ValueError("it is not a file in memory") from None
        if os.fstat(descriptor).st_size > most:
            raise ValueError(f"it has more than {most:,} bytes")
        return file.read(most)


class _Child:
    """A process that was started."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str, since: float) -> None:
        self.process, self.mark, self.since = process, mark, since
        self.ended = threading.Event()


class Executor:
    """Carries out requests, each in a thread."""

    def __init__(self, connection: socket.socket, workspace: str) -> None:
        from ..specs.workspace import LocalWorkspace
        from .reached import ReachedFiles

        self._connection, self._files = connection, ReachedFiles(LocalWorkspace(workspace))
        self._environment = dict(os.environ)
        self._sending = threading.Lock()
        self._running: dict[int, _Child] = {}

    def serve(self) -> None:
        """Answer until the other side hangs up, and then kill what still runs."""
        with ThreadPoolExecutor(THREADS) as threads, suppress(OSError):
            while (found := receive(self._connection)) is not None:
                threads.submit(self._answer, *found)
        for child in self._running.values():
            with suppress(OSError):
                os.killpg(child.process.pid, signal.SIGKILL)

    def _answer(self, message: dict[str, Any], passed: list[int]) -> None:
        from ..errors import ToolError

        answer: dict[str, Any] = {"id": message["id"]}
        back: list[int] = []
        try:
            answer["value"], back = getattr(self, f"_{message['op']}")(message, passed)
        except ToolError as error:
            answer["refused"] = str(error)
        except OSError as error:
            answer["errno"], answer["detail"] = error.errno or 0, [error.strerror or str(error), error.filename]
        except Exception as error:
            answer["failed"] = repr(error)
        finally:
            for descriptor in passed:
                os.close(descriptor)
        try:
            self._send(answer, back)
        finally:
            for descriptor in back:
                os.close(descriptor)

    def _send(self, message: dict[str, Any], passed: Sequence[int] = ()) -> None:
        with self._sending, suppress(OSError):
            send(self._connection, message, passed)

    # what can be asked for: each returns a value, and descriptors to pass

    def _file(self, message: dict[str, Any], passed: list[int]) -> tuple[Any, list[int]]:
        files = self._files if message["ends"] is None else self._files.rated(message["ends"])
        path = message["path"]
        match message["act"]:
            case "status":
                found = files.status(path)
                return (None if found is None else list(found)[:10]), []
            case "real":
                return files.real(path), []
            case "names":
                return files.names(path), []
            case "read":
                return None, [in_memory(files.read(path))]
            case "write":
                files.write(path, content(passed.pop(), MOST_CONTENT))
            case "walk":
                return files.walk(path, message["most"], message["skipped"]), []
            case "modified":
                return files.modified(path, message["paths"], lambda: None), []
            case "move":
                files.move(path, message["target"])
            case _:
                files.remove(path)
        return None, []

    def _run(self, message: dict[str, Any], passed: list[int]) -> tuple[Any, list[int]]:
        streams = [passed[one] if isinstance(one, int) and one >= 0 else one for one in message["streams"]]
        given: list[Any] = [subprocess.DEVNULL if one is None else one for one in streams]
        env = {**self._environment, **message["env"]}
        name, _, value = message["mark"].partition("=")
        env[name] = value
        since = time.clock_gettime(time.CLOCK_BOOTTIME)
        process = subprocess.Popen(
            message["command"], cwd=message["cwd"], env=env, stdin=given[0], stdout=given[1], stderr=given[2],
            start_new_session=True,
        )  # fmt: skip
        child = self._running[process.pid] = _Child(process, message["mark"], since)
        threading.Thread(target=self._note_end, args=(child,), daemon=True).start()
        return process.pid, []

    def _note_end(self, child: _Child) -> None:
        """Wait for the end of a process: nothing else does, since only one thread learns of it."""
        code = child.process.wait()
        child.ended.set()
        self._send({"id": 0, "ended": child.process.pid, "code": code})

    def _connect(self, message: dict[str, Any], passed: list[int]) -> tuple[Any, list[int]]:
        if "port" in message:
            return None, [socket.create_connection(("127.0.0.1", message["port"]), CONNECT_SECONDS).detach()]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(CONNECT_SECONDS)
            connection.connect(message["path"])
            return None, [connection.detach()]

    def _facts(self, message: dict[str, Any], passed: list[int]) -> tuple[Any, list[int]]:
        from .here import facts

        found = facts()
        return [found.system, found.machine, found.home, found.temporary], []

    def _signal(self, message: dict[str, Any], passed: list[int]) -> tuple[Any, list[int]]:
        child = self._running[message["pid"]]
        act: Callable[[int, int], None] = os.killpg if message["group"] else os.kill
        if not child.ended.is_set():
            with suppress(ProcessLookupError):
                act(child.process.pid, message["number"])
        return None, []

    def _release(self, message: dict[str, Any], passed: list[int]) -> tuple[Any, list[int]]:
        child = self._running.get(message["pid"])
        if child is not None and child.ended.is_set():
            del self._running[message["pid"]]
        return None, []

    def _end(self, message: dict[str, Any], passed: list[int]) -> tuple[Any, list[int]]:
        from .processes import started_by

        if (child := self._running.pop(message["pid"], None)) is None:
            return None, []
        for number in (signal.SIGTERM, signal.SIGKILL):
            left = started_by(child.process.pid, child.mark, child.since)
            for one in left:
                with suppress(Exception):
                    one.send_signal(number)
            if not child.ended.is_set():
                with suppress(ProcessLookupError):
                    os.kill(child.process.pid, number)
            child.ended.wait(KILL_AFTER)
            until = time.monotonic() + KILL_AFTER
            while any(_lives(one) for one in left) and time.monotonic() < until:
                time.sleep(0.01)
        return None, []


def _lives(process: Any) -> bool:
    try:
        return bool(process.is_running() and process.status() != "zombie")
    except Exception:
        return False


def main(path: str, workspace: str) -> None:
    """Connect to the runtime's socket, and serve it."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(path)
    Executor(connection, workspace).serve()
    os._exit(0)  # a thread may still carry something out


if __name__ == "__main__":
    main(*sys.argv[1:])
