"""`Shell`: a persistent bash on a pseudo-terminal of its own."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import secrets
import shutil
import struct
import tempfile
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import anyio.abc

from ..errors import ToolError
from .lending import GIVE_BACK, Loan
from .markers import Ended, Markers
from .processes import TERM_AFTER, children, descendants, end

ROWS, COLUMNS = 50, 200
KEPT = 16 * 1024 * 1024
"""Bytes of output kept of one command: its first and its last half."""

PATIENCE = 2.0
"""Seconds that a command has to take its input, and bash to end."""

_SECRET = re.compile(
    r"(?:^|_)(?:\w*KEY|TOKEN|PAT|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)", re.IGNORECASE
)
_START = f"""\
__agentrt_begin() {{
  local __agentrt_code=$?
  if [ -n "${{2-}}" ]; then . "$2"; fi
  export AGENTRT_CALL="$1"
  printf '\\036%s>\\037' "$__agentrt_token"
  return $__agentrt_code
}}
PROMPT_COMMAND='printf "\\036%s:%s:%s\\037" "$__agentrt_token" "$?" "$PWD"; {GIVE_BACK}'
PS1='' PS2=''
"""


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a shell: that of the process without what looks like a secret, and quiet terminals."""
    kept = {name: value for name, value in base.items() if not _SECRET.search(name)}
    return {**kept, "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "HISTFILE": "/dev/null"}


class Output:
    """The bytes of a command: all of them up to `KEPT`, then the first and the last half."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take more output."""
        room = KEPT // 2 - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        over = len(self._tail) - KEPT // 2
        if over > KEPT // 4:
            del self._tail[:over]
            self._dropped += over

    def text(self) -> str:
        """What was kept, with a note in the place of what was not."""
        gap = f"\n[{self._dropped} bytes were not kept]\n".encode() if self._dropped else b""
        return bytes(self._head + gap + self._tail).decode(errors="replace").replace("\r\n", "\n")


class Shell:
    """One bash: directory, variables and background jobs last from command to command."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)
        self.running = False
        self.last_change = 0.0
        """When the running command last printed, on the clock of `time.monotonic`."""
        self._token = secrets.token_hex(8)
        self._markers = Markers(self._token)
        self._output = Output()
        self._ended: Ended | None = None
        self._loan: Loan | None = None
        self._changed = asyncio.Event()
        self._calls = 0
        self._since = 0.0
        self._earlier: frozenset[int] = frozenset()
        self._any_prompt = True
        """Whether the next prompt ends the command also when it had not begun: at the start, and after an interrupt."""
        self._process: anyio.abc.Process | None = None
        self._master = -1
        self._on_output: Callable[[bytes], None] = lambda data: None

    async def start(self) -> None:
        """Start bash. Raises `ToolError` when there is none."""
        if shutil.which("bash") is None:
            raise ToolError("there is no bash on this machine")
        self._scratch = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, None, "agentrt-shell-"))
        try:
            await self._launch()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self.close()
            if isinstance(error, OSError):
                raise ToolError(f"a shell cannot start in {self.directory}: {error.strerror}") from error
            raise

    async def _launch(self) -> None:
        self._master, slave = pty.openpty()
        self._terminal = os.ttyname(slave)
        _quiet(slave)
        self._command_file = self._scratch / "command"
        start = self._scratch / "start"
        start.write_text(f"__agentrt_token={self._token}\n{_START}")
        script = 'exec bash --noprofile --noediting --rcfile "$1" -i <"$0" >"$0" 2>&1'
        try:
            with anyio.CancelScope(shield=True):  # else it may run, and nobody has its handle
                self._process = await anyio.open_process(
                    ["/bin/sh", "-c", script, self._terminal, str(start)],
                    cwd=self.directory,
                    env={**environment(os.environ), "AGENTRT_SHELL": self._token},
                    stdin=slave,
                    stdout=slave,
                    stderr=slave,
                    start_new_session=True,
                )
        finally:
            os.close(slave)
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._readable)
        self.running = True
        with anyio.move_on_after(10):
            while self.running:
                await self.wait(None)
        if not self.alive or self.running:
            raise ToolError("bash did not start within 10 s")

    @property
    def alive(self) -> bool:
        """Whether bash still runs."""
        return self._process is not None and self._process.returncode is None and self._master >= 0

    @property
    def at_work(self) -> bool:
        """Whether a command runs, or a job in the background."""
        return self._process is not None and self.alive and (self.running or bool(children(self._process.pid)))

    def processes(self, most: int) -> int:
        """How many processes it has, itself not counted; at `most`, no more are looked for. For a thread."""
        return descendants(self._process.pid, most) if self._process is not None else 0

    async def begin(
        self, command: str, on_output: Callable[[bytes], None], secrets: Mapping[str, str] | None = None
    ) -> None:
        """Start a command; none may be running. It alone has `secrets` as variables of its environment."""
        self._calls += 1
        self._output, self._ended = Output(), None
        self._on_output = on_output
        self._since = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._earlier = children(self._process.pid) if self._process is not None else frozenset()
        await anyio.Path(self._command_file).write_text(command + "\n", errors="replace")
        self._take_back()
        self._loan = Loan(secrets) if secrets else None
        loan = f" {self._loan.path}" if self._loan is not None else ""
        self.running, self._any_prompt = True, False
        self.last_change = time.monotonic()
        await self.send(f" __agentrt_begin {self._token}-{self._calls}{loan}; . '{self._command_file}'\n".encode())

    async def wait(self, seconds: float | None) -> Ended | None:
        """Wait until the command ends or prints, `seconds` at most; its end, when it has ended."""
        if self.running:
            self._changed.clear()
            with anyio.move_on_after(seconds if seconds is not None else float("inf")):
                await self._changed.wait()
        if self._process is not None and not self.running and self._ended is None:
            self._ended = Ended(await self._last_code(self._process), self.directory)
        return self._ended

    async def _last_code(self, process: anyio.abc.Process) -> int:
        """The exit code of bash itself, as a shell gives it: 128 and the signal's number when one ended it."""
        with anyio.move_on_after(PATIENCE):
            await process.wait()
        code = 1 if process.returncode is None else process.returncode
        return code if code >= 0 else 128 - code

    async def send(self, data: bytes) -> None:
        """Type into the terminal. Raises `ToolError` when the shell is gone, or the command does not take it all."""
        rest = data
        with anyio.move_on_after(PATIENCE):
            while rest:
                try:
                    rest = rest[os.write(self._master, rest) :]
                except BlockingIOError:
                    await anyio.sleep(0.01)
                except OSError as error:
                    raise ToolError(f"the shell cannot take input: {error.strerror}") from error
        if rest:
            raise ToolError(
                f"the command does not read its input: it was given {len(data) - len(rest)} of {len(data)} bytes"
            )

    def text(self) -> str:
        """What the command printed so far."""
        shown = self._output.text().replace(f"bash: {self._command_file}: ", "bash: ")
        return shown.replace(f"{self._command_file}: line ", "bash: line ")

    async def interrupt(self) -> tuple[str, ...]:
        """End the running command and all that it started. Returns the signals that were needed."""
        sent = ["SIGINT"]
        if self._process is None:
            return ()
        if self.alive and self.running:
            self._any_prompt = True
            with contextlib.suppress(OSError, termios.error, ToolError):
                self._forget_input()
                await self.send(b"\x03")
            with anyio.move_on_after(TERM_AFTER):
                while self.running:
                    await self.wait(None)
        mark = f"AGENTRT_CALL={self._token}-{self._calls}"
        sent += await end(self._process.pid, mark, self._since, self._earlier)
        with anyio.move_on_after(0.5):
            while self.running and self.alive:
                await self.wait(None)
        return tuple(sent)

    async def close(self) -> None:
        """End bash and all that it started."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()  # before it hangs up: a process that ended by itself is reaped by whoever looks first
        self._hang_up()
        if self._process is not None:
            await end(self._process.pid, f"AGENTRT_SHELL={self._token}", 0.0)
            await self._process.wait()
        await anyio.to_thread.run_sync(shutil.rmtree, self._scratch, True)

    def _forget_input(self) -> None:
        """Drop what was typed and not read: bash would run it, and a full queue does not let C-c through."""
        termios.tcflush(self._master, termios.TCOFLUSH)
        terminal = os.open(self._terminal, os.O_RDWR | os.O_NOCTTY)
        try:
            termios.tcflush(terminal, termios.TCIFLUSH)
        finally:
            os.close(terminal)

    def _take_back(self) -> None:
        if self._loan is not None:
            self._loan.close()
            self._loan = None

    def _hang_up(self) -> None:
        self._take_back()
        if self._master >= 0:
            asyncio.get_running_loop().remove_reader(self._master)
            os.close(self._master)
            self._master = -1
        self.running = False

    def _readable(self) -> None:
        try:
            data = os.read(self._master, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
        for found in self._markers.feed(data):
            if isinstance(found, Ended):
                if found.begun or self._any_prompt:
                    self._ended, self.directory, self.running = found, found.directory, False
                    self._take_back()
            else:
                self._output.add(found)
                self._on_output(found)
        self.last_change = time.monotonic()
        self._changed.set()


def _quiet(terminal: int) -> None:
    """No echo, no change of line ends, and a size."""
    settings = termios.tcgetattr(terminal)
    settings[1] &= ~termios.ONLCR
    settings[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
