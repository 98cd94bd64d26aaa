"""One Chromium for all tests of a process: each connects to it, and has browser sessions of its own."""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress
from functools import cache

from playwright.async_api import Browser, Error, Playwright

PATH = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""The browser asks nobody but the server."""


TRIES, PATIENCE = 2, 10.0
"""How often one is given up, and after how many seconds without an answer."""


@cache
def shared() -> str:
    """The address at which one can be driven (the DevTools protocol); it ends with this process."""
    home = tempfile.mkdtemp(prefix="chromium-")
    words = [PATH, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={home}", *QUIET]
    environment = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
    atexit.register(_end, process, home)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(rb"DevTools listening on (ws://\S+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()  # or it waits once the pipe is full
            return found[1].decode()
    raise AssertionError(f"{PATH} does not start")


async def connected(playwright: Playwright) -> Browser:
    """The shared one; one that does not answer is given up, and another started."""
    for _ in range(TRIES):
        with suppress(Error):
            return await playwright.chromium.connect_over_cdp(shared(), timeout=PATIENCE * 1000)
        shared.cache_clear()
    return await playwright.chromium.connect_over_cdp(shared())


def _end(process: subprocess.Popen[bytes], home: str) -> None:
    process.terminate()
    process.wait(10)
    assert process.stderr is not None
    process.stderr.close()
    shutil.rmtree(home, ignore_errors=True)
