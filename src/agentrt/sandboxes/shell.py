"""`Shell`: a persistent bash, on whatever `Console`."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from ..errors import ToolError
from .console import Console
from .lending import GIVE_BACK, TAKE, Loan
from .markers import Ended, Markers
from .output import Output
from .processes import TERM_AFTER

START_SECONDS = 10.0
"""How long bash may take to be ready."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_START = f"""\
__agentrt_begin() {{
  local __agentrt_code=$?
  if [ $# -gt 2 ]; then unset -v "${{@:3}}"; fi
  if [ -n "${{2-}}" ]; then {TAKE}; fi
  export AGENTRT_CALL="$1"
  printf '\\036%s>\\037' "$__agentrt_token"
  return $__agentrt_code
}}
PROMPT_COMMAND='printf "\\036%s:%s:%s\\037" "$__agentrt_token" "$?" "$PWD"; {GIVE_BACK}'
PS1='' PS2=''
"""


class Shell:
    """One bash: directory, variables and background jobs last from command to command."""

    def __init__(self, console: Console, directory: Path) -> None:
        self.directory = str(directory)
        self.running = False
        self.last_change = 0.0
        """When the running command last printed, on the clock of `time.monotonic`."""
        self._console = console
        self._token = secrets.token_hex(8)
        self._markers = Markers(self._token)
        self._output = Output()
        self._ended: Ended | None = None
        self._loan: Loan | None = None
        self._changed = asyncio.Event()
        self._calls = 0
        self._any_prompt = True
        """Whether the next prompt ends the command also when it had not begun: at the start, and after an interrupt."""
        self._launched = False
        self._on_output: Callable[[bytes], None] = lambda data: None

    async def start(self) -> None:
        """Start bash. Raises `ToolError` when there is none."""
        try:
            await self._console.prepare()
            await self._launch()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self.close()
            if isinstance(error, OSError):
                raise ToolError(f"a shell cannot start in {self.directory}: {error.strerror or error}") from error
            raise

    async def _launch(self) -> None:
        self._command_file = self._console.scratch / "command"
        start = self._console.scratch / "start"
        start.write_text(f"__agentrt_token={self._token}\n{_START}")
        self.running = True
        await self._console.start(self._token, self.directory, start, self._hear)
        self._launched = True
        with anyio.move_on_after(START_SECONDS):
            while self.running:
                await self.wait(None)
        if not self.alive or self.running:
            raise ToolError(f"bash did not start within {START_SECONDS:.0f} s")

    @property
    def alive(self) -> bool:
        """Whether bash still runs."""
        return self._console.alive

    async def at_work(self) -> bool:
        """Whether a command runs, or a job in the background."""
        return self.alive and (self.running or await self._console.busy())

    async def processes(self, most: int) -> int:
        """How many processes it has, itself not counted; at `most`, no more are looked for."""
        return await self._console.processes(most)

    async def begin(
        self, command: str, on_output: Callable[[bytes], None], secrets: Mapping[str, str] | None = None
    ) -> None:
        """Start a command; none may be running. It alone has `secrets` as variables of its environment."""
        self._calls += 1
        self._output, self._ended = Output(), None
        self._on_output = on_output
        await self._console.begin()
        await anyio.Path(self._command_file).write_text(command + "\n", errors="replace")
        self._take_back()
        self._loan = self._console.lend(secrets) if secrets else None
        loan = f" '{self._loan.path}'" if self._loan is not None else " ''"
        loan += "".join(f" {name}" for name in self._console.take_back() if _NAME.fullmatch(name))
        self.running, self._any_prompt = True, False
        self.last_change = time.monotonic()
        await self.send(f" __agentrt_begin {self._token}-{self._calls}{loan}; . '{self._command_file}'\n".encode())

    async def wait(self, seconds: float | None) -> Ended | None:
        """Wait until the command ends or prints, `seconds` at most; its end, when it has ended."""
        if self.running:
            self._changed.clear()
            with anyio.move_on_after(seconds if seconds is not None else float("inf")):
                await self._changed.wait()
        if self._launched and not self.running and self._ended is None:
            self._ended = Ended(await self._console.exit_code(), self.directory)
        return self._ended

    async def send(self, data: bytes) -> None:
        """Type into the terminal. Raises `ToolError` when the shell is gone, or the command does not take it all."""
        try:
            taken = await self._console.send(data)
        except OSError as error:
            raise ToolError(f"the shell cannot take input: {error.strerror or error}") from error
        if taken < len(data):
            raise ToolError(f"the command does not read its input: it was given {taken} of {len(data)} bytes")

    def text(self) -> str:
        """What the command printed so far."""
        shown = self._output.text().replace(f"bash: {self._command_file}: ", "bash: ")
        return shown.replace(f"{self._command_file}: line ", "bash: line ")

    async def interrupt(self) -> tuple[str, ...]:
        """End the running command and all that it started. Returns the signals that were needed."""
        sent = ["SIGINT"]
        if not self._launched:
            return ()
        if self.alive and self.running:
            self._any_prompt = True
            with contextlib.suppress(OSError, termios.error, ToolError):
                self._console.forget_input()
                await self.send(b"\x03")
            with anyio.move_on_after(TERM_AFTER):
                while self.running:
                    await self.wait(None)
        sent += await self._console.end(f"{self._token}-{self._calls}")
        with anyio.move_on_after(0.5):
            while self.running and self.alive:
                await self.wait(None)
        return tuple(sent)

    async def close(self) -> None:
        """End bash and all that it started."""
        self._take_back()
        await self._console.close()
        self.running = False

    def _take_back(self) -> None:
        if self._loan is not None:
            self._loan.close()
            self._loan = None

    def _hear(self, data: bytes) -> None:
        if not data:
            self._take_back()
            self.running = False
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
