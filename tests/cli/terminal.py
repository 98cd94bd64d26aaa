"""A command on a terminal of its own, as a person has it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Mapping, Sequence

import anyio

SECONDS = 60


class Terminal:
    """What a command wrote, and what is typed; plain text without colours. Leaving ends the command."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        plain = {**environment, "TERM": "dumb", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            list(command), stdin=theirs, stdout=theirs, stderr=theirs, env=plain, start_new_session=True
        )
        os.close(theirs)
        self.text = ""
        """All that it wrote, with what was typed in between."""
        self._seen = 0

    async def __aenter__(self) -> Terminal:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    async def until(self, words: str) -> str:
        """What it writes from where the last wait ended, up to these words."""
        with anyio.fail_after(SECONDS):
            while words not in self.text[self._seen :]:
                await anyio.wait_readable(self._ours)
                self.text += os.read(self._ours, 65536).decode(errors="replace").replace("\r\n", "\n")
        begin, self._seen = self._seen, self.text.index(words, self._seen) + len(words)
        return self.text[begin : self._seen]

    def type(self, words: str) -> None:
        """Type a line."""
        os.write(self._ours, f"{words}\n".encode())

    def press_ctrl_c(self) -> None:
        """Interrupt the command, as a shell's foreground process is."""
        self.process.send_signal(signal.SIGINT)

    async def exit_code(self) -> int:
        """Read to the end; the exit code."""
        with anyio.fail_after(SECONDS):
            try:
                while True:
                    await anyio.wait_readable(self._ours)
                    if not (more := os.read(self._ours, 65536)):
                        break
                    self.text += more.decode(errors="replace").replace("\r\n", "\n")
            except OSError:  # how a terminal says that nobody writes to it any more
                pass
            return await anyio.to_thread.run_sync(self.process.wait)
