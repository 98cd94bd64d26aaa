"""The page "A first hour" as it stands: its files in a directory, and the two programs of it that go on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

PAGE = Path(__file__).parent.parent / "docs" / "first-hour.md"
SECONDS = 120
"""Until a program must have said that it listens."""


def files() -> dict[str, str]:
    """What the page shows, by the names in the first lines; of the two `model.py` that with the stand-in."""
    blocks = re.findall(r"```(?:python|html)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return {re.findall(r"[\w]+\.\w+", block.splitlines()[0])[0]: block for block in blocks}


def write(place: Path) -> Mapping[str, str]:
    """Put the files there; the environment for what is run."""
    for name, text in files().items():
        (place / name).write_text(text.replace("port=9999", "port=0"))
    return os.environ | {"AGENTRT_HOME": str(place / "home"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@asynccontextmanager
async def stand_in(place: Path, environment: Mapping[str, str]) -> AsyncIterator[None]:
    """`python stand_in.py`, on a free port, which `model.py` is told."""
    async with _running([sys.executable, "stand_in.py"], place, environment, rb"listens at (\S+)") as base_url:
        model = place / "model.py"
        model.write_text(re.sub(r"http://127.0.0.1:9999/v1", base_url, model.read_text()))
        yield


@asynccontextmanager
async def server(place: Path, environment: Mapping[str, str]) -> AsyncIterator[str]:
    """`hypercorn app:app`, on a free port; its address."""
    command = [sys.executable, "-m", "hypercorn", "app:app", "--bind", "127.0.0.1:0"]
    async with _running(command, place, environment, rb"Running on (\S+)") as address:
        yield address


@asynccontextmanager
async def _running(
    command: list[str], place: Path, environment: Mapping[str, str], listening: bytes
) -> AsyncIterator[str]:
    """A program that goes on, once it has said at which address; it is ended at the end."""
    async with await anyio.open_process(command, cwd=place, env=environment, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        try:
            with anyio.fail_after(SECONDS):
                while not (found := re.search(listening, await lines.receive_until(b"\n", 1 << 20))):
                    pass
            yield found[1].decode()
        finally:
            process.terminate()
