"""`LocalConsole`: a bash on this machine, on a pseudo-terminal."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.to_thread
import psutil

from ..errors import ToolError
from ..placing import Masked
from ..scratch import RUNTIME, runtime_directory
from .console import COLUMNS, PATIENCE, ROWS, Heard, fill, is_plain_bash, store
from .environment import environment, secret_variables
from .installed import installed, is_installed
from .lending import Loan, MemoryLoan, PipeLoan
from .process_table import children, descendants, ignores
from .processes import CONVERSATION, end, is_alone, started_by
from .spawning import can_spawn
from .starting import Begun, opened, unconfined

if TYPE_CHECKING:
    from .box import Box
    from .fence import Fence
    from .here import Here

_ON_TERMINAL = 'exec $heeding "$2" --noprofile --noediting --rcfile "$1" -i <"$0" >"$0" 2>&1'
"""For sh. A session leader that opens a terminal gets it as its controlling terminal."""

ADOPTS = """\
import _ctypes, _signal, posix, sys
for number in _signal.SIGPIPE, _signal.SIGXFSZ: _signal.signal(number, _signal.SIG_DFL)
_ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl"), (36, 1, 0, 0, 0))
posix.execv(sys.argv[1], sys.argv[1:])
"""
"""For Python. Bash adopts the processes below it whose parent has ended (prctl(2), PR_SET_CHILD_SUBREAPER), so they are
found whatever they did to their session and environment. The setting outlives exec. So would the signals that Python
ignores: they are reset. To import `ctypes`, `signal` and `os` takes as long as to start Python.
"""

_HEEDING = 'command="/usr/bin/env --default-signal=INT,QUIT"; $command true 2>/dev/null && heeding=$command; '
"""For sh, if this process ignores C-c (after a script's `&`). Otherwise commands would ignore it, too, and no shell can
undo that. If `env` cannot do so either, an interrupt ends them with SIGTERM.
"""


_CAN_ADOPT = sys.platform == "linux" and bool(sys.executable) and sys.implementation.name == "cpython"


class LocalConsole:
    """A `Console` on this machine. What bash started is found below it, by its session, and by its environment."""

    def __init__(self, masked: Masked, conversation: str, place: Here) -> None:
        self._masked, self._given, self._place = masked, dict[str, str](), place
        self._box: Box | Fence | None = None
        self._marks = {RUNTIME: runtime_directory.name, **({CONVERSATION: conversation} if conversation else {})}
        self._scratch: Path | None = None
        self._files: Mapping[str, str] = {}
        self._token = ""
        self._since = 0.0
        self._earlier: frozenset[int] = frozenset()
        self._process: anyio.abc.Process | None = None
        self._master = -1
        self._heard: Heard = lambda data: None

    @property
    def scratch(self) -> Path:
        """A directory for the files that bash reads."""
        assert self._scratch is not None
        return self._scratch

    async def prepare(self, files: Mapping[str, str]) -> None:
        """Make `scratch` with these files. Raises `ToolError` if there is no bash."""
        if not is_installed("bash"):
            raise ToolError("there is no bash on this machine, or only in a workspace: install it with your system")
        await anyio.to_thread.run_sync(self._make_scratch, files)

    async def store(self, name: str, text: str) -> None:
        """Write a file into `scratch`."""
        await store(self.scratch, name, text, self._files)

    def _make_scratch(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._box = self._place.wall()
        self._scratch = Path(self._place.directory("shell-"))
        fill(self._scratch, files)

    async def start(self, token: str, directory: str, start: PurePath, heard: Heard) -> None:
        """Start bash; `heard` is called in the event loop. Raises `OSError`."""
        self._token, self._heard = token, heard
        self._given = environment(self._place.variables, self._masked)
        heeding = _HEEDING if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else ""
        box = self._box
        if box is None:
            self._master, slave = pty.openpty()
            self._terminal = os.ttyname(slave)
        else:
            self._master, slave, self._terminal = await anyio.to_thread.run_sync(_terminal_in, box)
        _quiet(slave)
        self._settings = termios.tcgetattr(slave)
        try:
            script = f"heeding=; {heeding}{_ON_TERMINAL}"
            shell = ["/bin/sh", "-c", script, self._terminal, str(start), installed("bash")]
            self._process = await opened(
                shell,
                cwd=directory,
                env={
                    **self._given,
                    **self._marks,
                    "AGENTRT_SHELL": token,
                    "PWD": str(directory),
                },  # else bash resolves the links in its path
                stdin=slave,
                stdout=slave,
                stderr=slave,
                begin=partial(_adopting if box is None else box.spawned, adopts=True),
            )
        finally:
            os.close(slave)
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._readable)

    @property
    def alive(self) -> bool:
        """Whether bash still runs and has its terminal."""
        return self._process is not None and self._process.returncode is None and self._master >= 0

    def take_back(self) -> Collection[str]:
        """Return the variables that bash was started with and that have become secrets since, each once."""
        found = secret_variables(self._given, self._masked)
        for name in found:
            del self._given[name]
        return found

    async def begin(self) -> None:
        """Remember what runs, and give the terminal its first settings again."""
        self._set()
        self._since = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._earlier = children(self._process.pid) if self._process is not None else frozenset()

    async def send(self, data: bytes) -> int:
        """Type; return how many bytes were taken within `PATIENCE`. Raises `OSError` if the terminal is gone."""
        rest = data
        with anyio.move_on_after(PATIENCE):
            while rest:
                try:
                    rest = rest[os.write(self._master, rest) :]
                except BlockingIOError:
                    await anyio.sleep(0.01)
        return len(data) - len(rest)

    def forget_input(self) -> None:
        """Drop input that was typed and not read, and make C-c a signal. Raises `OSError` or `termios.error`."""
        self._set()
        termios.tcflush(self._master, termios.TCOFLUSH)
        terminal = other_end(self._master, self._terminal)
        try:
            termios.tcflush(terminal, termios.TCIFLUSH)
        finally:
            os.close(terminal)

    def lend(self, variables: Mapping[str, str]) -> Loan:
        """Return a loan of variables to the next command."""
        return MemoryLoan(variables) if self._box is None else PipeLoan(variables, self.scratch)

    async def busy(self) -> bool:
        """Return whether bash has a process below it."""
        return self._process is not None and bool(children(self._process.pid))

    async def at_prompt(self) -> bool:
        """Return whether the terminal belongs to bash (tcgetpgrp(3)), not to a process that it started."""
        try:
            if self._process is None or os.tcgetpgrp(self._master) != self._process.pid:
                return False
        except OSError:
            return False
        return not ignores(self._process.pid, signal.SIGINT)  # else C-c ends nothing, and a command still reads

    async def replaced(self) -> bool:
        """Return whether another bash, with options alone, has replaced the first one and has the terminal."""
        if not await self.at_prompt():
            return False
        assert self._process is not None
        try:
            return is_plain_bash(psutil.Process(self._process.pid).cmdline())
        except psutil.Error:
            return False

    async def processes(self, most: int) -> int:
        """Return the number of processes below bash, counted up to `most`."""
        if self._process is None:
            return 0
        return await anyio.to_thread.run_sync(descendants, self._process.pid, most)

    async def end(self, call: str) -> tuple[str, ...]:
        """End what began since `begin`, or has `call` as its `AGENTRT_CALL`. Return the signals that were needed."""
        if self._process is None:
            return ()
        return await end(self._process.pid, f"AGENTRT_CALL={call}", self._since, self._earlier)

    async def exit_code(self) -> int:
        """Return the exit code of bash: 128 plus the number of the signal that ended it, 1 if bash has not ended."""
        assert self._process is not None
        with anyio.move_on_after(PATIENCE):
            await self._process.wait()
        code = 1 if self._process.returncode is None else self._process.returncode
        return code if code >= 0 else 128 - code

    async def settle(self) -> None:
        """Do nothing: commands here act as this user."""

    async def close(self) -> None:
        """End bash and all that it started."""
        mark, below, alone = f"AGENTRT_SHELL={self._token}", list[psutil.Process](), False
        if self._process is not None and self._process.returncode is None:
            # while bash is there, which adopts them
            alone = _CAN_ADOPT and await is_alone(self._process.pid)
            if not alone:
                below = await anyio.to_thread.run_sync(started_by, self._process.pid, mark, 0.0)
            with contextlib.suppress(ProcessLookupError):  # bash has just ended
                self._process.kill()  # before hanging up: a bash that ends by itself is reaped by whoever looks first
        self._hang_up()
        if self._process is not None:
            if not alone:
                await end(self._process.pid, mark, 0.0, also=below)
            await self._process.wait()
        if self._scratch is not None and not self._place.has_wall:  # a box is removed with all that it has
            await anyio.to_thread.run_sync(self._place.remove, str(self._scratch))

    def _set(self) -> None:
        """Give the terminal its first settings again, if a command has changed them."""
        if self._master < 0:
            return
        with contextlib.suppress(termios.error):  # it is gone: what is typed next fails
            if termios.tcgetattr(self._master) != self._settings:
                termios.tcsetattr(self._master, termios.TCSANOW, self._settings)

    def _hang_up(self) -> None:
        if self._master >= 0:
            asyncio.get_running_loop().remove_reader(self._master)
            os.close(self._master)
            self._master = -1
            self._heard(b"")

    def _readable(self) -> None:
        try:
            data = os.read(self._master, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._heard(data)
        else:
            self._hang_up()


def _adopting(command: Sequence[str], **given: Any) -> Begun:
    """Start a program outside of any box that adopts those below it. For a thread."""
    if _CAN_ADOPT and can_spawn():
        from .entering import entered

        try:
            return entered(command, door=None, **given)
        except ConnectionAbortedError:  # this Python needs variables of this process
            command = [sys.executable, "-I", "-S", "-c", ADOPTS, *command]
    del given["adopts"]
    return unconfined(command, **given)


def _terminal_in(box: Box | Fence) -> tuple[int, int, str]:
    """Return both ends of a new terminal of a box, and its path inside. For a thread. Raises `OSError`, `ToolError`."""
    master = box.terminal()
    try:
        fcntl.ioctl(master, _UNLOCK, struct.pack("i", 0))
        (number,) = struct.unpack("I", fcntl.ioctl(master, _NUMBER, struct.pack("I", 0)))
        return master, other_end(master), f"/dev/pts/{number}"
    except BaseException:
        os.close(master)
        raise


def other_end(master: int, path: str = "") -> int:
    """Open the other end of a terminal, whose path may be another one here. Raises `OSError`."""
    flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
    return os.open(path, flags) if sys.platform != "linux" else fcntl.ioctl(master, _PEER, flags)


_UNLOCK, _NUMBER, _PEER = 0x40045431, 0x80045430, 0x5441
"""TIOCSPTLCK, TIOCGPTN and TIOCGPTPEER, see ioctl_tty(2)."""


def _quiet(terminal: int) -> None:
    """Turn off echo and the conversion of line ends, and set the size."""
    settings = termios.tcgetattr(terminal)
    settings[1] &= ~termios.ONLCR
    settings[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
