"""The program at the far end of a link: it reads and writes files there and runs programs, as it is asked to.

It needs nothing but Python 3.9 on Linux, and `sh`: its source is sent, with those of the modules that it imports. When
nobody is left to ask, it ends with all that it has started.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import importlib.util
import json
import os
import platform
import pty
import secrets
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from typing import Any

from ..process_table import children, descendants, ignores, read, started_by
from ..rated_ends import RatedEnds, Unrated
from ..walking import walked
from ._frames import CLOSED, DATA, HEAD, MESSAGE, MORE, PIECE, READY, WINDOW, count, frame, more

TERMINAL = "{terminal}"
"""The word of a command that stands for its terminal."""

CONNECT_SECONDS = 10.0
"""Seconds that a connection to a port or a socket may take."""

KILL_AFTER = 0.5
"""Seconds between TERM and KILL."""

SWEEPS = 100
"""Maximum number of times that what is left is looked for at the end: it may start more meanwhile."""

LARGEST = 16 << 20
"""Maximum bytes of an answer."""

ENDS_AT_ONCE = 32
"""Maximum number of programs that are ended at once, each in a thread."""

NOT_REGULAR = "it is not a regular file"


class Refused(Exception):
    """Raised for a request that cannot be carried out; its text says why."""


class Channel:
    """One pipe of the link."""

    def __init__(self, number: int, post: Callable[[bytes], None]) -> None:
        self.number, self._post = number, post
        self._arrived: list[bytes] = []
        self._credit, self.closed = WINDOW, False
        self.on_closed: Callable[[], object] = lambda: None
        self._changed = asyncio.Event()

    def take(self, kind: int, data: bytes) -> None:
        """Take a frame."""
        if kind == DATA:
            self._arrived.append(data)
        elif kind == MORE:
            self._credit += count(data)
        else:
            self.closed = True
            self.on_closed()
        self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def received(self) -> bytes:
        """Return the next data; none at the end."""
        while not self._arrived and not self.closed:
            await self._change()
        return self._arrived.pop(0) if self._arrived else b""

    def taken(self, number: int) -> None:
        """Let as many bytes come."""
        self._post(more(self.number, number))

    async def send(self, data: bytes) -> None:
        """Send data as there is room, as long as anybody reads it."""
        for at in range(0, len(data), PIECE):
            while self._credit <= 0 and not self.closed:
                await self._change()
            if self.closed:
                return
            piece = data[at : at + PIECE]
            self._credit -= len(piece)
            self._post(frame(self.number, DATA, piece))

    def end(self, kind: int = DATA) -> None:
        """Send the end."""
        self._post(frame(self.number, kind))


class Child:
    """A program that was started, and its terminal if it has one."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str, since: float, master: int, terminal: str) -> None:
        self.process, self.mark, self.since, self.master, self.terminal = process, mark, since, master, terminal
        self.settings = termios.tcgetattr(master) if master >= 0 else []
        self.begun, self.earlier = since, children(process.pid)
        self.ended = threading.Event()


class Far:
    """Carries out requests."""

    def __init__(self, given: asyncio.StreamReader, said: asyncio.StreamWriter, token: str) -> None:
        self._given, self._said, self._token = given, said, token
        self._loop = asyncio.get_event_loop()
        self._channels: dict[int, Channel] = {}
        self._children: dict[int, Child] = {}
        self._loans: dict[str, int] = {}
        self._listening: dict[str, asyncio.AbstractServer] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._accepted = 0
        self._ending = ThreadPoolExecutor(ENDS_AT_ONCE)
        self.scratch = tempfile.mkdtemp(prefix="agentrt-")

    async def serve(self) -> None:
        """Answer until the other side hangs up, and then end all that runs."""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                number, kind, length = HEAD.unpack(await self._given.readexactly(HEAD.size))
                data = await self._given.readexactly(length)
                if kind == MESSAGE:
                    self._begin(json.loads(data))
                elif number in self._channels:
                    self._channels[number].take(kind, data)
        for _ in range(SWEEPS):
            if not self._killed(started_by(-1, f"AGENTRT_LINK={self._token}", 0.0)):
                break
        for pid, child in list(self._children.items()):
            if not child.ended.is_set():  # it has dropped the mark
                self._killed(started_by(pid, child.mark, child.since) | {pid})
        shutil.rmtree(self.scratch, ignore_errors=True)

    @staticmethod
    def _killed(pids: set[int]) -> bool:
        """Kill processes; return whether there were any."""
        for pid in pids - {os.getpid()}:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return bool(pids - {os.getpid()})

    def _post(self, data: bytes) -> None:
        if not self._said.is_closing():
            self._said.write(data)

    def _tell(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if len(data) > LARGEST:
            data = json.dumps({"id": message["id"], "refused": "the answer is too large: ask for less"}).encode()
        self._post(frame(0, MESSAGE, data))

    def _begin(self, asked: dict[str, Any]) -> None:
        """Carry out a request: at once what takes no time, so that what is typed next finds it done."""
        for number in filter(None, asked.get("channels", ())):
            self._channel(number)  # what comes on it is next
        act = getattr(self, "_" + asked["op"])
        if asyncio.iscoroutinefunction(act):
            self._keep(self._answer(asked, act))
        else:
            try:
                self._tell({"id": asked["id"], "value": act(asked)})
            except Exception as error:
                self._tell({"id": asked["id"], **_failure(error)})

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    async def _answer(self, asked: dict[str, Any], act: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        try:
            self._tell({"id": asked["id"], "value": await act(asked)})
        except Exception as error:
            self._tell({"id": asked["id"], **_failure(error)})

    def _channel(self, number: int) -> Channel:
        return self._channels.setdefault(number, Channel(number, self._post))

    # files

    async def _file(self, asked: dict[str, Any]) -> Any:
        """Answer with a value; the content of a file comes, or goes, on a channel."""
        if asked["act"] not in ("read", "write"):
            return await self._loop.run_in_executor(None, _file_act, asked)
        channel = self._channel(asked["channels"][0])
        try:
            if asked["act"] == "read":
                await channel.send(await self._loop.run_in_executor(None, _file_act, asked))
                return None
            data = bytearray()
            while piece := await channel.received():
                channel.taken(len(piece))
                data += piece
            if len(data) != asked["size"]:
                raise Refused("the content did not arrive whole")
            return await self._loop.run_in_executor(None, _file_act, asked, bytes(data))
        finally:
            channel.end()
            self._channels.pop(channel.number, None)

    # programs

    def _run(self, asked: dict[str, Any]) -> int:
        env = {**os.environ, **asked["env"], "AGENTRT_LINK": self._token}
        name, _, value = asked["mark"].partition("=")
        env[name] = value
        command, master, terminal = asked["command"], -1, ""
        ours: list[tuple[int, int, bool]] = []
        theirs: list[int] = []
        try:
            if asked.get("size"):
                master, theirs = self._terminal(asked["size"])
                terminal = os.ttyname(theirs[0])
                command = [terminal if word == TERMINAL else word for word in command]
            else:
                for at, number in enumerate(asked["channels"]):
                    into = at == 0
                    reading, writing = os.pipe() if number else (os.open(os.devnull, os.O_RDWR),) * 2
                    theirs.append(reading if into else writing)
                    if number:
                        ours.append((number, writing if into else reading, into))
            since = time.clock_gettime(time.CLOCK_BOOTTIME)
            given, out, errors = theirs if len(theirs) == 3 else theirs * 3
            process = subprocess.Popen(
                command, cwd=asked["cwd"], env=env, stdin=given, stdout=out, stderr=errors, start_new_session=True
            )
        except BaseException:
            for one in [end for _, end, _ in ours] + ([master] if master >= 0 else []):
                os.close(one)
            raise
        finally:
            for one in set(theirs):
                os.close(one)
        child = self._children[process.pid] = Child(process, asked["mark"], since, master, terminal)
        threading.Thread(target=self._note_end, args=(child,), daemon=True).start()
        if master >= 0:
            os.set_blocking(master, False)
            ours = [(asked["channels"][1], os.dup(master), False)]
        for number, end, is_input in ours:
            channel = self._channel(number)
            self._keep(self._feed(channel, end) if is_input else self._listen(channel, end))
        return process.pid

    @staticmethod
    def _terminal(size: list[int]) -> tuple[int, list[int]]:
        master, slave = pty.openpty()
        settings = termios.tcgetattr(slave)
        settings[1] &= ~termios.ONLCR
        settings[3] &= ~(termios.ECHO | termios.ECHONL)
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        return master, [slave]

    def _note_end(self, child: Child) -> None:
        code = child.process.wait()
        child.ended.set()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._tell, {"id": 0, "ended": child.process.pid, "code": code})

    async def _feed(self, channel: Channel, end: int) -> None:
        """Write what comes on a channel to a pipe, until that ends."""
        writer: asyncio.StreamWriter | None = None
        try:
            writer = await _writing(end)
            while data := await channel.received():
                writer.write(data)
                await writer.drain()
                channel.taken(len(data))
        except OSError:
            channel.end(CLOSED)
        finally:
            self._channels.pop(channel.number, None)
            if writer is not None:
                writer.close()

    async def _listen(self, channel: Channel, end: int) -> None:
        """Send what a pipe brings, until it ends, or nobody reads it any more."""
        transport: asyncio.BaseTransport | None = None
        try:
            reader, transport = await _reading(end)
            channel.on_closed = transport.close
            if channel.closed:
                transport.close()
            with contextlib.suppress(OSError):  # a terminal whose processes have ended
                while data := await reader.read(PIECE):
                    await channel.send(data)
        finally:
            channel.end()
            self._channels.pop(channel.number, None)
            if transport is not None:
                transport.close()

    def _signal(self, asked: dict[str, Any]) -> None:
        child = self._children[asked["pid"]]
        if not child.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if asked["group"] else os.kill)(asked["pid"], asked["number"])

    async def _end(self, asked: dict[str, Any]) -> list[str]:
        """End a program with all that it started, and forget it."""
        child = self._children.pop(asked["pid"], None)
        if child is None:
            return []
        sent = await self._loop.run_in_executor(self._ending, _ended, child, child.mark, child.since, frozenset(), True)
        if child.master >= 0:
            os.close(child.master)
        return sent

    def _release(self, asked: dict[str, Any]) -> None:
        """Forget a program that has ended."""
        child = self._children.get(asked["pid"])
        if child is not None and child.ended.is_set() and child.master < 0:
            del self._children[asked["pid"]]

    def _pulse(self, asked: dict[str, Any]) -> None:
        """Answer."""

    # consoles: programs on a terminal

    async def _fill(self, asked: dict[str, Any]) -> None:
        def fill() -> None:
            os.makedirs(asked["directory"], 0o700, exist_ok=True)
            for name, text in asked["files"].items():
                with open(f"{asked['directory']}/{name}", "wb") as file:
                    file.write(text.encode("utf-8", "replace"))

        await self._loop.run_in_executor(None, fill)

    async def _clear(self, asked: dict[str, Any]) -> None:
        await self._loop.run_in_executor(None, shutil.rmtree, asked["directory"], True)

    def _type(self, asked: dict[str, Any]) -> int:
        """Type; return how many bytes the terminal took."""
        try:
            return os.write(self._children[asked["pid"]].master, asked["text"].encode("latin-1"))
        except BlockingIOError:
            return 0

    def _note(self, asked: dict[str, Any]) -> None:
        """Remember what runs, and give the terminal its first settings again."""
        child = self._children[asked["pid"]]
        self._set(child)
        child.begun, child.earlier = time.clock_gettime(time.CLOCK_BOOTTIME), children(asked["pid"])

    @staticmethod
    def _set(child: Child) -> None:
        with contextlib.suppress(termios.error):
            if termios.tcgetattr(child.master) != child.settings:
                termios.tcsetattr(child.master, termios.TCSANOW, child.settings)

    def _forget(self, asked: dict[str, Any]) -> None:
        """Drop what was typed and not read, and make C-c a signal."""
        child = self._children[asked["pid"]]
        self._set(child)
        with contextlib.suppress(OSError, termios.error):
            termios.tcflush(child.master, termios.TCOFLUSH)
            terminal = os.open(child.terminal, os.O_RDWR | os.O_NOCTTY)
            try:
                termios.tcflush(terminal, termios.TCIFLUSH)
            finally:
                os.close(terminal)

    async def _look(self, asked: dict[str, Any]) -> list[Any]:
        """Return the number of processes below a shell, whether it waits for a command, and its words."""
        child = self._children[asked["pid"]]
        below = await self._loop.run_in_executor(None, descendants, asked["pid"], asked["most"])
        prompt, words = False, []
        with contextlib.suppress(OSError):
            prompt = os.tcgetpgrp(child.master) == asked["pid"] and not ignores(asked["pid"], signal.SIGINT)
            words = read(f"/proc/{asked['pid']}/cmdline").decode("utf-8", "replace").split("\0")[:-1]
        return [below, prompt, words]

    async def _interrupt(self, asked: dict[str, Any]) -> list[str]:
        """End what a command of a shell has started, and return the signals that were needed."""
        child = self._children[asked["pid"]]
        return await self._loop.run_in_executor(
            self._ending, _ended, child, asked["mark"], child.begun, child.earlier, False
        )

    def _lend(self, asked: dict[str, Any]) -> None:
        """Keep a text in memory, as a file at a path."""
        kept = self._loans[asked["path"]] = os.memfd_create("agentrt")
        with open(kept, "wb", closefd=False) as file:
            file.write(asked["text"].encode("utf-8", "surrogateescape"))
        os.symlink(f"/proc/{os.getpid()}/fd/{kept}", asked["path"])

    def _take_back(self, asked: dict[str, Any]) -> None:
        """Drop such a text."""
        if (kept := self._loans.pop(asked["path"], None)) is not None:
            os.close(kept)
            with contextlib.suppress(OSError):
                os.unlink(asked["path"])

    # connections

    async def _connect(self, asked: dict[str, Any]) -> None:
        if "port" in asked:
            connecting = asyncio.open_connection("127.0.0.1", asked["port"])
        else:
            connecting = asyncio.open_unix_connection(asked["path"])
        reader, writer = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        self._lead(reader, writer, asked["channels"])

    def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, numbers: list[int]) -> None:
        into, out = map(self._channel, numbers)
        out.on_closed = writer.close

        async def led_in() -> None:
            with contextlib.suppress(OSError):
                while data := await into.received():
                    writer.write(data)
                    await writer.drain()
                    into.taken(len(data))
                if writer.can_write_eof():
                    writer.write_eof()
            self._channels.pop(into.number, None)

        async def led_out() -> None:
            with contextlib.suppress(OSError):
                while data := await reader.read(PIECE):
                    await out.send(data)
            out.end()
            self._channels.pop(out.number, None)
            writer.close()

        self._keep(led_in())
        self._keep(led_out())

    async def _listen_at(self, asked: dict[str, Any]) -> str:
        """Listen at a path, and tell of each connection by its channels, which have even numbers."""

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._accepted += 4
            numbers = [self._accepted - 2, self._accepted]
            self._tell({"id": 0, "accepted": asked["name"], "channels": numbers})
            self._lead(reader, writer, numbers)

        path = f"{self.scratch}/{asked['name']}"
        self._listening[asked["name"]] = await asyncio.start_unix_server(accepted, path)
        return path

    def _unlisten(self, asked: dict[str, Any]) -> None:
        self._listening.pop(asked["name"]).close()
        os.unlink(f"{self.scratch}/{asked['name']}")

    # facts

    def _facts(self, asked: dict[str, Any]) -> dict[str, Any]:
        system = f"{platform.system()} {platform.release()}"
        package = importlib.util.find_spec("agentrt")
        return {
            "facts": [system, platform.machine(), os.path.expanduser("~"), tempfile.gettempdir()],
            "python": sys.executable,
            "package": os.path.dirname(package.origin or "") if package is not None else "",
            "scratch": self.scratch,
        }


def _failure(error: Exception) -> dict[str, Any]:
    """Return the part of an answer that tells an error."""
    if isinstance(error, (Refused, Unrated)):
        return {"refused": str(error)}
    if isinstance(error, OSError):
        path = None if error.filename is None else str(error.filename)
        return {"errno": error.errno or 0, "detail": [error.strerror or str(error), path]}
    return {"failed": repr(error)}


def _ended(child: Child, mark: str, since: float, earlier: frozenset[int], itself: bool) -> list[str]:
    """End what a program has started since, by TERM and then by KILL; return the signals that were needed."""
    pid, sent = child.process.pid, []
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        left = started_by(pid, mark, since, earlier)
        if itself and not child.ended.is_set():
            left.add(pid)
        if not left:
            break
        if number.name not in sent:
            sent.append(number.name)
        for one in left:
            with contextlib.suppress(OSError):
                os.kill(one, number)
        until = time.monotonic() + KILL_AFTER
        while time.monotonic() < until and any(_lives(one) for one in left):
            time.sleep(0.01)
    return sent


def _lives(pid: int) -> bool:
    try:
        return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] not in b"ZX"
    except (OSError, IndexError):
        return False


def _file_act(asked: dict[str, Any], data: bytes = b"") -> Any:
    """Return the outcome of a request for a file."""
    path = asked["path"]
    if asked["ends"] is not None:
        rated = RatedEnds(sys.argv[1], asked["ends"])
        for one in (path, asked.get("target")):
            if one is not None:
                rated.check_before(os.path.normpath(one))
    try:
        return _ACTS[asked["act"]](asked, data)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror or error}") from error


def _status(path: str) -> list[int] | None:
    try:
        return [int(one) for one in tuple(os.stat(path))[:10]]
    except (FileNotFoundError, NotADirectoryError):
        return None


def _real(path: str) -> str:
    os.stat(path)
    return os.path.realpath(path)


def _names(path: str) -> list[tuple[str, bool, bool]]:
    with os.scandir(path) as entries:
        return sorted((one.name, os.path.isdir(one.path), one.is_symlink()) for one in entries)


def _modified(directory: str, path: str) -> int:
    try:
        return os.lstat(os.path.join(directory, path)).st_mtime_ns
    except OSError:
        return 0


def _content(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, NOT_REGULAR)
        return file.read()


def _made(path: str) -> bool:
    if os.path.isdir(path):
        return False
    os.makedirs(path)
    return True


def _written(path: str, data: bytes) -> None:
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if os.path.lexists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, NOT_REGULAR)
    temporary = f"{os.path.dirname(path)}/.agentrt-{secrets.token_hex(8)}"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
        try:
            file.write(data)
            file.flush()
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(path).st_mode))
            os.rename(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def _moved(path: str, target: str) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.link(path, target, follow_symlinks=False)  # a rename would replace what has come meanwhile
    os.unlink(path)


_ACTS: dict[str, Callable[[dict[str, Any], bytes], Any]] = {
    "status": lambda asked, data: _status(asked["path"]),
    "real": lambda asked, data: _real(asked["path"]),
    "names": lambda asked, data: _names(asked["path"]),
    "walk": lambda asked, data: walked(asked["path"], asked["most"], asked["skipped"]),
    "modified": lambda asked, data: [_modified(asked["path"], one) for one in asked["paths"]],
    "read": lambda asked, data: _content(asked["path"]),
    "make": lambda asked, data: _made(asked["path"]),
    "write": lambda asked, data: _written(asked["path"], data),
    "move": lambda asked, data: _moved(asked["path"], asked["target"]),
    "remove": lambda asked, data: os.unlink(asked["path"]),
}
"""What is done with a file, by the name of the request."""


async def _reading(end: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(limit=2 * PIECE)
    transport, _ = await asyncio.get_event_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), FileIO(end, "rb")
    )
    return reader, transport


async def _writing(end: int) -> asyncio.StreamWriter:
    loop = asyncio.get_event_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, FileIO(end, "wb"))
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _main() -> None:
    given, _ = await _reading(os.dup(0))
    said = await _writing(os.dup(1))
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_event_loop().add_signal_handler(number, given.feed_eof)
    said.write(READY)
    await Far(given, said, secrets.token_hex(8) + "-1").serve()


def main() -> None:
    """Serve whoever has started this program, by its standard streams."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)  # not ignored: what is started would ignore it, too
    asyncio.run(_main())
    os._exit(0)  # a thread may still carry something out
