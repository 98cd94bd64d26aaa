"""`Link`: the near end of a connection to the program at the far end (`_far`), over the streams of a command."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import stat
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from importlib import import_module
from io import FileIO
from pathlib import Path
from secrets import token_hex
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import msgspec
from anyio.abc import ByteReceiveStream, ByteSendStream

from ...errors import ToolError
from ...placing import DEVNULL, PIPE, PlaceFacts, StartSoon, Stream
from ..asked import ODD, Running, value_of
from ..environment import environment
from ..inside import MOST_CONTENT
from ..installed import installed
from ..processes import new_mark
from ..starting import Input, Started, opened, unconfined
from ._frames import CLOSED, DATA, HEAD, MESSAGE, MORE, MOST, PIECE, READY, WINDOW, count, frame, more

START_SECONDS = 60.0
"""Seconds that the far end may take to begin."""

ANSWER_SECONDS = 60.0
"""Seconds that it may take for an answer."""

END_SECONDS = 5.0
"""Seconds that the command may take to end, once its input is closed."""

SAID = 4096
"""Bytes that are kept of what the command says on its standard error."""

PULSE_SECONDS = 20.0
"""Seconds without a frame after which the far end is asked for one: a connection may be dead unseen."""

MOST_PIPES = 4096
"""Maximum number of pipes at which the far end may still open one."""

_BEFORE = 65_536
"""Bytes that a login may print."""

_SENT = ("process_table", "rated_ends", "walking", "by_command._frames", "by_command._far")

BOOT = """\
import sys, json, types
def add(name, source):
    module = sys.modules[name] = types.ModuleType(name)
    module.__package__, module.__path__ = name.rpartition(".")[0], []
    exec(compile(source, name, "exec"), module.__dict__)
for name, source in json.loads(sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))): add(name, source)
sys.modules["far.by_command._far"].main()
"""
"""For Python: reads the modules of the far end, and runs it."""


@cache
def _sources() -> bytes:
    """Return what `BOOT` reads: the modules of the far end, each with its source."""
    sandboxes = __name__.rsplit(".", 2)[0]
    modules = [("far", ""), ("far.by_command", "")]
    for name in _SENT:
        source = Path(import_module(f"{sandboxes}.{name}").__file__ or "").read_text()
        modules.append((f"far.{name}", source))
    data = json.dumps(modules).encode()
    return b"%d\n" % len(data) + data


class Outlet(ByteSendStream):
    """A pipe to write to. Once `send` has begun to write, all its bytes are written, even if it is cancelled."""

    def __init__(self, number: int, post: Callable[[bytes], None], forget: Callable[[int], object]) -> None:
        self._number, self._post, self._forget = number, post, forget
        self._credit, self._closed, self.broken = WINDOW, False, False
        self._changed = anyio.Event()

    def take(self, kind: int, data: bytes) -> bool:
        """Take a frame; return whether it was the last one."""
        if kind == MORE:
            self._credit += count(data)
        else:
            self.broken = True
        self._changed.set()
        self._changed = anyio.Event()
        return self.broken

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint_if_cancelled()
        while self._credit <= 0 and not self.broken and not self._closed:
            await self._changed.wait()
        if self._closed:
            raise anyio.ClosedResourceError
        if self.broken:
            raise anyio.BrokenResourceError
        self._credit -= len(item)
        for at in range(0, len(item), PIECE):
            self._post(frame(self._number, DATA, item[at : at + PIECE]))

    async def aclose(self) -> None:
        self.close()
        await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close it, once what was sent has arrived."""
        if not self._closed:
            self._closed = True
            self._changed.set()
            self._post(frame(self._number, DATA))
            self._forget(self._number)


class Inlet(ByteReceiveStream):
    """A pipe to read from."""

    def __init__(self, number: int, post: Callable[[bytes], None], forget: Callable[[int], object]) -> None:
        self._number, self._post, self._forget = number, post, forget
        self._arrived, self._untold = bytearray(), 0
        self._ended = self._closed = False
        self._changed = anyio.Event()

    def take(self, kind: int, data: bytes) -> bool:
        """Take a frame; return whether it was the last one."""
        self._ended = self._ended or kind == CLOSED or not data
        if not self._closed:
            self._arrived += data
        if len(self._arrived) > WINDOW + PIECE:
            raise ValueError(ODD)
        self._changed.set()
        return self._ended

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        await anyio.lowlevel.checkpoint()
        while not self._arrived and not self._ended and not self._closed:
            self._changed = anyio.Event()
            await self._changed.wait()
        if self._closed:
            raise anyio.ClosedResourceError
        if not self._arrived:
            raise anyio.EndOfStream
        data = bytes(self._arrived[:max_bytes])
        del self._arrived[:max_bytes]
        self._untold += len(data)
        if self._untold >= WINDOW // 4 and not self._ended:
            self._post(more(self._number, self._untold))
            self._untold = 0
        return data

    async def aclose(self) -> None:
        self.close()
        await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close it, even with unread data in it."""
        if not self._closed:
            self._closed = True
            self._arrived.clear()
            self._changed.set()
            if not self._ended:
                self._post(frame(self._number, CLOSED))
            self._forget(self._number)


async def linked(command: Sequence[str], name: str, start_soon: StartSoon) -> Link:
    """Start a command that runs Python with `BOOT` elsewhere, and return the link to it.

    `name` is what messages call the place. The command gets the variables of this process that are no secrets. Raises
    `ToolError` if the place cannot be reached.
    """
    try:
        name_of, *words = command
        program = name_of if os.sep in name_of else installed(name_of)
        process = await opened([program, *words], env=environment(os.environ), begin=unconfined)
    except OSError as error:
        why = str(error.strerror or error)
        why = why if command[0] in why else f"{command[0]}: {why}"
        raise ToolError(f"{name} cannot be reached: {why}") from error
    link = Link(process, name, start_soon)
    try:
        await link.begin()
    except BaseException:
        process.kill_group()  # nothing runs there yet
        with anyio.CancelScope(shield=True):
            await link.close()
        raise
    return link


class _Told(msgspec.Struct):
    """What the far end tells of itself."""

    facts: tuple[str, str, str, str]
    python: str
    package: str
    scratch: str


class Link:
    """A connection. It is dead once `alive` is false, and what ran at the far end has ended then."""

    def __init__(self, process: Started, name: str, start_soon: StartSoon) -> None:
        self._process, self._name, self._start_soon = process, name, start_soon
        self._numbers, self._channels = itertools.count(1), itertools.count(1, 2)
        self._waiting: dict[int, Callable[[dict[str, Any]], None]] = {}
        self._abandoned = set[int]()
        """The requests for processes that nobody waits for any more."""
        self._pipes: dict[int, Inlet | Outlet] = {}
        self._ends: dict[int, Callable[[int], None]] = {}
        self._heard = 0.0
        """When the last frame came."""
        self._accepts: dict[str, Callable[[Inlet, Outlet], None]] = {}
        self._outbox, self._due = bytearray(), anyio.Event()
        self._said, self._all_said = bytearray(), anyio.Event()
        self.alive, self._dead = True, anyio.Event()
        self.facts: PlaceFacts
        self.python = self.package = self.scratch = ""
        """The Python there, the directory of this package if that has it, and a directory for temporary files."""

    async def begin(self) -> None:
        """Start the far end. Raises `ToolError` if it does not begin."""
        self._start_soon(self._hear_errors)
        assert self._process.stdin is not None
        try:
            with anyio.fail_after(START_SECONDS):
                await self._process.stdin.send(_sources())
                rest = await self._first()
        except TimeoutError:
            raise ToolError(f"{self._name} did not begin within {START_SECONDS:.0f} s{self._errors()}") from None
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            with anyio.move_on_after(END_SECONDS):
                await self._all_said.wait()
            raise ToolError(f"{self._name} cannot be reached{self._errors()}") from None
        self._start_soon(partial(self._listen, rest))
        self._start_soon(self._send_all)
        self._start_soon(self._keep_alive)
        told = await self.ask("facts")
        try:
            found = msgspec.convert(told, _Told)
        except msgspec.ValidationError as error:
            raise ToolError(f"{self._name}: {ODD}") from error
        self.facts = PlaceFacts(*found.facts)
        self.python, self.package, self.scratch = found.python, found.package, found.scratch

    async def _first(self) -> bytes:
        """Wait for the far end; return what has come behind its first words."""
        assert self._process.stdout is not None
        found = bytearray()
        while READY not in found:
            found += await self._process.stdout.receive()
            if len(found) > _BEFORE:
                raise ToolError(f"{self._name} prints more than {_BEFORE} bytes before anything runs there")
        return bytes(found.partition(READY)[2])

    async def _hear_errors(self) -> None:
        assert self._process.stderr is not None
        try:
            async for data in self._process.stderr:
                self._said += data
                del self._said[:-SAID]
        except (anyio.ClosedResourceError, OSError):
            return
        finally:
            self._all_said.set()

    def _errors(self) -> str:
        """Return the last line that the command said, to stand at the end of a message."""
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        return f": {lines[-1].strip()}" if lines else ""

    # frames

    def post(self, data: bytes) -> None:
        """Send a frame, in the order of the calls. What a link holds is bounded by the windows of its channels."""
        if self.alive:
            self._outbox += data
            self._due.set()

    async def _send_all(self) -> None:
        assert self._process.stdin is not None
        try:
            while self.alive:
                self._due = anyio.Event()
                if self._outbox:
                    data, self._outbox = bytes(self._outbox), bytearray()
                    await self._process.stdin.send(data)
                else:
                    await self._due.wait()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return
        finally:
            self._lose()

    async def _keep_alive(self) -> None:
        """Find out that the far end does not answer any more."""
        while self.alive:
            with anyio.move_on_after(PULSE_SECONDS):
                await self._dead.wait()
            if self.alive and anyio.current_time() - self._heard >= PULSE_SECONDS:
                with suppress(ToolError, OSError):
                    await self.ask("pulse")

    async def _listen(self, rest: bytes) -> None:
        assert self._process.stdout is not None
        held = bytearray(rest)
        try:
            while True:
                while len(held) >= HEAD.size:
                    number, kind, length = HEAD.unpack_from(held)
                    if length > MOST:
                        raise ValueError(ODD)
                    if len(held) < HEAD.size + length:
                        break
                    self._take(number, kind, bytes(held[HEAD.size : HEAD.size + length]))
                    del held[: HEAD.size + length]
                held += await self._process.stdout.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, OSError):
            return
        except (ValueError, KeyError, TypeError, RecursionError):  # the far end may be in the agent's hands
            self._said += b"\nit does not speak as it should"
        finally:
            self._lose()

    def _take(self, number: int, kind: int, data: bytes) -> None:
        self._heard = anyio.current_time()
        if kind != MESSAGE:
            if (pipe := self._pipes.get(number)) is not None and pipe.take(kind, data):
                self._pipes.pop(number, None)
            return
        message = json.loads(data)
        if not isinstance(message, dict):
            raise ValueError(ODD)
        if (waiting := self._waiting.pop(message["id"], None)) is not None:
            waiting(message)
        elif message["id"] in self._abandoned:
            self._abandoned.discard(message["id"])
            if isinstance(message.get("value"), int):
                self.soon("end", pid=message["value"])
        elif isinstance(ended := message.get("ended"), int) and isinstance(code := message.get("code"), int):
            if (note := self._ends.pop(ended, None)) is not None:
                note(code)
        elif (accept := self._accepts.get(message.get("accepted", ""))) is not None:
            into, out = message["channels"]
            known = len(self._pipes) > MOST_PIPES or into in self._pipes or out in self._pipes
            if known or not all(isinstance(one, int) and one > 0 and one % 2 == 0 for one in (into, out)):
                raise ValueError(ODD)
            accept(self.inlet(out), self.outlet(into))

    def _lose(self) -> None:
        """Note that the link is dead; what waits for it is told. The far end ends as its input does."""
        if not self.alive:
            return
        self.alive = False
        self._dead.set()
        self._due.set()
        self._hang_up()
        gone = {"refused": f"{self._name} has ended{self._errors()}"}
        for waiting in list(self._waiting.values()):
            waiting(gone)
        for pipe in self._pipes.values():
            pipe.take(CLOSED, b"")
        for note in self._ends.values():
            note(-signal.SIGKILL)
        for kept in (self._waiting, self._pipes, self._ends, self._accepts):
            kept.clear()

    # requests

    async def ask(self, op: str, **given: Any) -> Any:
        """Return the answer to a request. Raises `ToolError` and `OSError`."""
        return await self._ask(op, lambda value: None, given)

    async def _ask(self, op: str, come: Callable[[Any], None], given: Mapping[str, Any]) -> Any:
        """Do the same; `come` gets the value of an answer at once, before another frame is looked at."""
        answers = list[dict[str, Any]]()
        arrived = anyio.Event()

        def take(answer: dict[str, Any]) -> None:
            answers.append(answer)
            come(answer.get("value"))
            arrived.set()

        if not self.alive:
            raise ToolError(f"{self._name} has ended{self._errors()}")
        number = next(self._numbers)
        self._waiting[number] = take
        self.post(frame(0, MESSAGE, json.dumps({"id": number, "op": op, **given}).encode()))
        try:
            with anyio.move_on_after(ANSWER_SECONDS) as limit:
                await arrived.wait()
            while limit.cancelled_caught and self._heard + ANSWER_SECONDS > anyio.current_time():
                # it is at work on something large
                with anyio.move_on_at(self._heard + ANSWER_SECONDS) as limit:
                    await arrived.wait()
        except BaseException:
            if op == "run":  # it may have been started
                if answers and isinstance(answers[0].get("value"), int):
                    self.soon("end", pid=answers[0]["value"])
                else:
                    self._abandoned.add(number)
            raise
        finally:
            self._waiting.pop(number, None)
        if answers:
            return value_of(answers[0])
        self._lose()
        raise ToolError(f"{self._name} did not answer within {ANSWER_SECONDS:g} s")

    def soon(self, op: str, **given: Any) -> None:
        """Ask for something whose answer does not matter, without waiting."""
        self.post(frame(0, MESSAGE, json.dumps({"id": next(self._numbers), "op": op, **given}).encode()))

    def _forget(self, number: int) -> None:
        self._pipes.pop(number, None)

    def inlet(self, number: int) -> Inlet:
        """Return the pipe of a channel that the far end writes to."""
        pipe = self._pipes[number] = Inlet(number, self.post, self._forget)
        return pipe

    def outlet(self, number: int) -> Outlet:
        """Return the pipe of a channel that the far end reads."""
        pipe = self._pipes[number] = Outlet(number, self.post, self._forget)
        return pipe

    async def file(self, data: bytes | None, **given: Any) -> tuple[Any, bytes]:
        """Return the answer to a request for a file, and the content that came with it."""
        number, content = next(self._channels), bytearray()
        if given["act"] not in ("read", "write"):
            return await self.ask("file", **given), b""
        pipe = self.outlet(number) if given["act"] == "write" else self.inlet(number)

        async def passed() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the answer says why
                if isinstance(pipe, Inlet):
                    async for piece in pipe:
                        content.extend(piece)
                        if len(content) > MOST_CONTENT:
                            break
                else:
                    for at in range(0, len(data or b""), PIECE):
                        await pipe.send((data or b"")[at : at + PIECE])
            pipe.close()

        failure: Exception | None = None
        value: Any = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(passed)
                try:
                    value = await self.ask("file", channels=[number], size=len(data or b""), **given)
                except (ToolError, OSError) as error:
                    failure = error
                if failure is not None or isinstance(pipe, Outlet):
                    tasks.cancel_scope.cancel()
        finally:
            pipe.close()
        if failure is not None:
            raise failure
        if len(content) > MOST_CONTENT:
            raise ToolError(f"it has more than {MOST_CONTENT:,} bytes")
        return value, bytes(content)

    async def run(
        self,
        command: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        streams: Sequence[Stream],
        size: tuple[int, int] | None = None,
    ) -> Running:
        """Start a program there; with `size`, on a terminal of so many rows and columns.

        Raises `OSError`, `ToolError`, and `ValueError` for words that no program can have.
        """
        if any("\0" in word for word in (*command, cwd, *env, *env.values())):
            raise ValueError("embedded null byte")
        numbers = [0 if stream in (None, DEVNULL) else next(self._channels) for stream in streams]
        pipes = [None if not one else self.inlet(one) if at else self.outlet(one) for at, one in enumerate(numbers)]
        given = {"command": list(command), "cwd": cwd, "env": dict(env), "size": size, "mark": new_mark()}
        mine = [pipe if stream == PIPE else None for pipe, stream in zip(pipes, streams, strict=True)]
        process, leading = Running(self, 0, mine), _Leading(self._start_soon)

        def begun(pid: Any) -> None:
            if isinstance(pid, int):
                process.pid = pid
                self._ends[pid] = lambda code: leading.ended(partial(process.note_end, code))

        try:
            for pipe, stream in zip(pipes, streams, strict=True):
                if pipe is not None and stream != PIPE:
                    leading.add(pipe, stream)
            await self._ask("run", begun, {"channels": numbers, **given})
            if not process.pid:
                raise ToolError(ODD)
        except BaseException:
            leading.drop()
            for pipe in pipes:
                if pipe is not None:
                    pipe.close()
            raise
        leading.start()
        return process

    async def connect(self, **given: Any) -> socket.socket:
        """Return a connection to a port or a socket there. Raises `OSError` and `ToolError`."""
        into, out = next(self._channels), next(self._channels)
        pipes = self.inlet(out), self.outlet(into)
        near, far = socket.socketpair()
        try:
            await self.ask("connect", channels=[into, out], **given)
            self._start_soon(partial(_led, *pipes, await anyio.abc.SocketStream.from_socket(far)))
        except BaseException:
            for one in (*pipes, near, far):
                one.close()
            raise
        return near

    @asynccontextmanager
    async def listening(self, path: str) -> AsyncIterator[str]:
        """Provide the path of a socket there whose connections lead to one of this machine. Raises `ToolError`."""
        name = token_hex(8)

        def accept(inlet: Inlet, outlet: Outlet) -> None:
            async def led() -> None:
                try:
                    near = await anyio.connect_unix(path)
                except OSError:
                    inlet.close()
                    outlet.close()
                else:
                    await _led(inlet, outlet, near)

            self._start_soon(led)

        self._accepts[name] = accept
        try:
            try:
                there = await self.ask("listen_at", name=name)
            except OSError as error:
                raise ToolError(f"no socket can be made there: {error.strerror or error}") from error
            yield there
        finally:
            self._accepts.pop(name, None)
            self.soon("unlisten", name=name)

    async def close(self) -> None:
        """Hang up: the far end ends with all that it has started. May be called twice."""
        assert self._process.stdin is not None
        with anyio.move_on_after(END_SECONDS):
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                if self.alive and self._outbox:
                    data, self._outbox = bytes(self._outbox), bytearray()
                    await self._process.stdin.send(data)
            self._lose()
            await self._process.wait()
        self._lose()
        self._process.kill_group()  # it has not ended by itself
        with anyio.move_on_after(END_SECONDS):
            await self._process.wait()
        self._process.close_pipes()

    def _hang_up(self) -> None:
        assert isinstance(self._process.stdin, Input)
        self._process.stdin.close()


async def _led(inlet: Inlet, outlet: Outlet, near: anyio.abc.ByteStream) -> None:
    """Lead a connection of this machine to two pipes of the link, until both directions have ended."""
    gone = (anyio.BrokenResourceError, anyio.ClosedResourceError)

    async def led_out() -> None:
        with suppress(*gone):
            async for data in near:
                await outlet.send(data)
        outlet.close()

    async with near, anyio.create_task_group() as tasks:
        tasks.start_soon(led_out)
        with suppress(*gone):
            async for data in inlet:
                await near.send(data)
            await near.send_eof()
        inlet.close()


class _Leading:
    """The pipes of a program that are led to descriptors of this machine, or from them."""

    def __init__(self, start_soon: StartSoon) -> None:
        self._start_soon = start_soon
        self._files: list[tuple[Inlet | Outlet, FileIO]] = []
        self._scopes: list[anyio.CancelScope] = []
        self._inlets, self._done = 0, anyio.Event()

    def add(self, pipe: Inlet | Outlet, stream: Stream) -> None:
        """Add a pipe and the descriptor, or file, of a stream; that is copied. Raises `OSError`."""
        assert stream is not None
        copy = os.dup(stream if isinstance(stream, int) else stream.fileno())
        try:
            self._files.append((pipe, FileIO(copy, "wb" if isinstance(pipe, Inlet) else "rb")))
        except BaseException:
            with suppress(OSError):
                os.close(copy)
            raise
        self._inlets += isinstance(pipe, Inlet)

    def drop(self) -> None:
        """Close the copies: the program was not started."""
        for _, file in self._files:
            file.close()

    def start(self) -> None:
        """Begin to lead."""
        for pipe, file in self._files:
            self._start_soon(partial(self._lead, pipe, file))

    def ended(self, note: Callable[[], None]) -> None:
        """Note the end of the program once what it has printed is written, which may take `END_SECONDS`."""
        for scope in self._scopes:
            scope.cancel()

        async def noted() -> None:
            try:
                with anyio.move_on_after(END_SECONDS):
                    await self._done.wait()
            finally:
                note()

        if self._inlets:
            self._start_soon(noted)
        else:
            note()

    async def _lead(self, pipe: Inlet | Outlet, file: FileIO) -> None:
        with file, suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            if isinstance(pipe, Inlet):
                async for data in pipe:
                    rest = memoryview(data)
                    while rest:
                        rest = rest[await anyio.to_thread.run_sync(file.write, rest) or 0 :]
            else:
                with anyio.CancelScope() as scope:
                    self._scopes.append(scope)
                    while data := await _piece(file):
                        await pipe.send(data)
        pipe.close()
        if isinstance(pipe, Inlet):
            self._inlets -= 1
            if not self._inlets:
                self._done.set()


async def _piece(file: FileIO) -> bytes:
    """Return the next bytes of a file or a pipe; none at the end."""
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        await anyio.wait_readable(file)
    return await anyio.to_thread.run_sync(file.read, PIECE) or b""
