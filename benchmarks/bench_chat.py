"""How soon does a chat answer a key while text streams in, and how much does it write?

`agentrt chat` runs on a pseudo-terminal of 120 x 40. A model that is scripted behind a real wire (HTTP over loopback)
streams 100 pieces a second, while keys are pressed, 20 a second. For each key: milliseconds until the character that it
types is written to the terminal. Bytes are those between the marks around a frame; one that answers a key counts, too,
among the frames a second.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import anyio
import harness
import msgspec

from agentrt.testing import ScriptedProvider, say

GOAL_ECHO_MS = 50
GOAL_FRAME_BYTES = 8_192
GOAL_FRAMES = 60
"""A second: 30 for what streams in, and one for each of the 20 keys, with some to spare."""

PIECES = 100
"""A second."""

KEYS = 20
"""A second."""

COLUMNS, ROWS = 120, 40
FIRST = 0x4E00
"""A character that no answer has; each key is another one from here on."""

FRAME = re.compile(rb"\x1b\[\?2026h(.*?)\x1b\[\?2026l", re.DOTALL)
PATIENCE = 60.0


class Seen(msgspec.Struct, frozen=True):
    """What a chat did: milliseconds to each echo, bytes of each frame, and the seconds that it took."""

    echoes: list[float]
    frames: list[int]
    seconds: float


class Chat:
    """A chat on a pseudo-terminal."""

    def __init__(self, directory: Path, base_url: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        words = ("--model", "openai/scripted", "--base-url", base_url, "--store", str(directory / "store"))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentrt", "chat", "--workspace", str(directory), *words],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env=os.environ | {"TERM": "xterm-256color", "HOME": str(directory)},
        )  # fmt: skip
        os.close(theirs)
        self.bytes = b""

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    async def until(self, words: str, begin: int = 0) -> None:
        """Wait until this is written, from a place on."""
        wanted = words.encode()
        with anyio.fail_after(PATIENCE):
            while wanted not in self.bytes[max(begin - 8, 0) :]:
                await anyio.wait_readable(self._ours)
                self.bytes += os.read(self._ours, 1 << 16)

    async def drain(self, seconds: float) -> None:
        """Read what is written for so long."""
        with anyio.move_on_after(seconds):
            while True:
                await anyio.wait_readable(self._ours)
                self.bytes += os.read(self._ours, 1 << 16)

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


async def chat(seconds: float) -> Seen:
    """Type for so long while text streams in."""
    answer = "some words of an answer that goes on. " * 40 + "\n"
    with tempfile.TemporaryDirectory() as place:
        async with ScriptedProvider(lambda body: say(answer * 1000), pace=1 / PIECES) as provider:
            running = Chat(Path(place), provider.base_url)
            try:
                await running.until("ready")
                running.type("go\r")
                await running.until("some words")
                await running.drain(1.0)
                begun, place_then = time.perf_counter(), len(running.bytes)
                echoes = await _echoes(running, begun + seconds)
                took = time.perf_counter() - begun
                frames = [len(frame) for frame in FRAME.findall(running.bytes[place_then:])]
            finally:
                running.close()
    return Seen(echoes, frames, took)


async def _echoes(running: Chat, upto: float) -> list[float]:
    echoes: list[float] = []
    while time.perf_counter() < upto:
        if len(echoes) % 20 == 19:
            running.type("\x15")  # clear the line
        key, begin = chr(FIRST + len(echoes)), len(running.bytes)
        pressed = time.perf_counter()
        running.type(key)
        await running.until(key, begin)
        echoes.append((time.perf_counter() - pressed) * 1e3)
        await running.drain(max(0.0, 1 / KEYS - (time.perf_counter() - pressed)))
    return echoes


def measure(seconds: float) -> Seen:
    """One run."""
    return anyio.run(chat, seconds)


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    repeats, seconds = (1, 5.0) if options.quick else (5, 20.0)
    runs = [harness.fresh(measure, seconds) for _ in range(repeats)]
    figures = [
        harness.Figure("key to echo, median", [harness.percentile(run.echoes, 50) for run in runs], "ms"),
        harness.Figure("key to echo, p99", [harness.percentile(run.echoes, 99) for run in runs], "ms", GOAL_ECHO_MS),
        harness.Figure("bytes a frame, median", [harness.percentile(run.frames, 50) for run in runs], "B"),
        harness.Figure("bytes a frame, most", [max(run.frames) for run in runs], "B", GOAL_FRAME_BYTES),
        harness.Figure("frames a second", [len(run.frames) / run.seconds for run in runs], "", GOAL_FRAMES),
        harness.Figure("bytes a second", [sum(run.frames) / run.seconds for run in runs], "B"),
    ]
    title = f"bench_chat: keys while {PIECES} pieces a second stream in, on {COLUMNS} x {ROWS}"
    harness.report(title, figures, options.json)


if __name__ == "__main__":
    main()
