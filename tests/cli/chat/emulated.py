"""A chat on a pseudo-terminal, with the screen that a person sees."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import anyio
import pyte

from agentrt.testing import ScriptedProvider
from tests.cli.test_main import environment

SECONDS = 60

ENTER, ESC, CTRL_C, CTRL_D, CTRL_J, ALT_ENTER, UP, TAB = "\r", "\x1b", "\x03", "\x04", "\n", "\x1b\r", "\x1b[A", "\t"

BEGIN, END = b"\x1b[?2026h", b"\x1b[?2026l"
FRAME = re.compile(re.escape(BEGIN) + b"(.*?)" + re.escape(END), re.DOTALL)


def pasted(text: str) -> str:
    """What a terminal sends for a pasted text."""
    return f"\x1b[200~{text.replace(chr(10), chr(13))}\x1b[201~"


class Emulated:
    """`agentrt chat` with these words on a terminal of `columns` x `rows`. Leaving ends it."""

    def __init__(
        self, place: Path, *words: str, provider: ScriptedProvider | None = None, columns: int = 80, rows: int = 24
    ) -> None:
        (place / "work").mkdir(exist_ok=True)
        (place / "home").mkdir(exist_ok=True)
        kept = environment(place / "store") | {"HOME": str(place / "home"), "TERM": "xterm-256color"}
        kept.pop("COLUMNS")
        model = ["--model", "openai/scripted", "--price", "1,4"]
        model += ["--base-url", provider.base_url if provider is not None else "http://127.0.0.1:9/v1"]
        if words and not words[0].startswith("--confine"):  # it goes on with one that has its model
            model = []
        self._ours, theirs = pty.openpty()
        self._screen = pyte.HistoryScreen(columns, rows, history=100_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        self._size(columns, rows)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentrt", "chat", *words, *model],
            stdin=theirs, stdout=theirs, stderr=theirs, env=kept, cwd=place / "work", start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.bytes = b""
        """All that was written."""

    async def __aenter__(self) -> Emulated:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    @property
    def screen(self) -> str:
        """What is on the screen now."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def drawing(self) -> bool:
        """Whether a frame has begun that is not whole yet; a terminal shows it when it is."""
        return self.bytes.rfind(BEGIN) > self.bytes.rfind(END)

    @property
    def text(self) -> str:
        """The scrollback and the screen."""
        above = ("".join(line[at].data for at in range(self._screen.columns)) for line in self._screen.history.top)
        return "\n".join((*(line.rstrip() for line in above), self.screen))

    async def read(self) -> None:
        """Wait for more to be written, and show it. Raises `EOFError`."""
        await anyio.wait_readable(self._ours)
        try:
            more = os.read(self._ours, 1 << 16)
        except OSError as error:  # how a terminal says that nobody writes to it any more
            raise EOFError from error
        self.bytes += more
        self._stream.feed(more)

    async def until(self, holds: str | Callable[[], bool]) -> str:
        """Wait until words are on the screen, or something holds; the screen."""
        try:
            with anyio.fail_after(SECONDS):
                while self.drawing or not (holds in self.screen if isinstance(holds, str) else holds()):
                    await self.read()
        except (TimeoutError, EOFError) as error:
            raise AssertionError(f"{holds!r} never came; the screen was:\n{self.screen}") from error
        return self.screen

    def has_written(self, number: int) -> bool:
        """Whether so many bytes were written."""
        return len(self.bytes) >= number

    async def ready(self) -> str:
        """Wait for the prompt."""
        return await self.until("○ ready")

    def type(self, keys: str) -> None:
        """Press keys."""
        data = keys.encode()
        while data:
            data = data[os.write(self._ours, data[:4096]) :]

    async def paste(self, text: str) -> None:
        """Paste a long text: what does not fit into the terminal waits."""
        data = pasted(text).encode()
        os.set_blocking(self._ours, False)
        while data:
            await anyio.wait_writable(self._ours)
            try:
                data = data[os.write(self._ours, data[:4096]) :]
            except BlockingIOError:
                continue
        os.set_blocking(self._ours, True)

    def send(self, words: str) -> None:
        """Type a line, and send it."""
        self.type(words + ENTER)

    def resize(self, columns: int, rows: int) -> None:
        """Make the terminal another size."""
        self._screen.resize(rows, columns)
        self._size(columns, rows)
        self.process.send_signal(signal.SIGWINCH)

    async def exit_code(self) -> int:
        """Read to the end; the exit code."""
        with anyio.fail_after(SECONDS):
            try:
                while True:
                    await self.read()
            except EOFError:
                return await anyio.to_thread.run_sync(self.process.wait)

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
