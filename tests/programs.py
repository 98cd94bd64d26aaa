"""Python programs, in processes of their own that begin with agentrt and litellm loaded.

To load them, and for a first call of a model, takes 3 seconds. A server does it once, and forks for each program, which
has an environment, a directory and standard streams of its own, and ends as any program does. That programs begin
without it, too, is for those tests to show that start `python` themselves.
"""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import anyio
import msgspec

SECONDS = 60
"""Until a program is ended."""

_LARGEST = 100_000
"""Bytes of a program and its environment."""


class _Program(msgspec.Struct, frozen=True):
    """The words after `python`, beginning with `-c` or `-m`, and where it runs."""

    words: list[str]
    directory: str
    environment: dict[str, str]


def run(
    *words: str, directory: Path, environment: Mapping[str, str], input: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `python -c CODE` or `python -m MODULE`, with what follows, to its end."""
    program = _Program([*words], str(directory), {**environment})
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(input.encode())
        stdin.seek(0)
        code = _server().run(program, [stdin.fileno(), stdout.fileno(), stderr.fileno()])
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess(words, code, stdout.read().decode(), stderr.read().decode())


@cache
def _server() -> _Server:
    return _Server()


class _Server:
    """The server as the tests see it; it ends with them."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=Path(__file__).parent.parent,
            )
        self._turn = threading.Lock()
        atexit.register(self._end)

    def run(self, program: _Program, streams: list[int]) -> int:
        """Wait for its turn and for its end; the exit code."""
        with self._turn:
            socket.send_fds(self._control, [msgspec.json.encode(program)], streams)
            return int(self._control.recv(_LARGEST))

    def _end(self) -> None:
        self._control.close()
        self._process.wait()


def _serve(control: socket.socket) -> None:
    """Fork for each program; in the forked process, return when it has run."""
    while True:
        message, streams, *_ = socket.recv_fds(control, _LARGEST, 3)
        if not message:
            return
        if not (child := os.fork()):
            control.close()
            _become(msgspec.json.decode(message, type=_Program), streams)
            return
        for stream in streams:
            os.close(stream)
        control.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(program: _Program, streams: list[int]) -> None:
    signal.alarm(SECONDS)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(program.environment)
    os.chdir(program.directory)
    sys.path[0] = ""
    kind, code, *more = program.words
    sys.argv = [kind, *more]
    if kind == "-m":
        runpy.run_module(code, run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(code, main.__dict__)


async def _load() -> None:
    """What takes long; much of it is loaded by the first call of a model."""
    import_module("agentrt.cli")
    from agentrt import Agent, Conversation
    from agentrt.testing import ScriptedProvider, say

    with tempfile.TemporaryDirectory() as place:
        async with ScriptedProvider([say("Hello.")]) as provider:
            async with Conversation(Agent(llm=provider.llm()), place, store=Path(place, "store")) as conversation:
                await conversation.send_message("Hello?")
                await conversation.run()


if __name__ == "__main__":
    anyio.run(_load)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(SECONDS)  # it was told to end
    assert threading.active_count() == 1, "threads are not forked"
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
