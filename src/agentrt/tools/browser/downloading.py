"""Downloads: watched while they run, and put into the workspace when they have ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ...errors import ToolError
from ...protocols import ToolContext
from .files import put_download, safe_name

if TYPE_CHECKING:
    from playwright.async_api import Download

DOWNLOAD_SECONDS = 60.0
"""Seconds that a download may take."""

MOST_HELD = 256 << 20
"""Maximum bytes of all downloads of a browser that run or wait to be put into the workspace."""

LOOK_SECONDS = 0.1


async def watched(download: Download, directory: str) -> str:
    """Wait for the end of a download, and cancel it if it is too large or takes too long. Return why, or "".

    The size on the disk counts, because compressed data may unpack to any length.
    """
    problem = ""

    async def watch() -> None:
        nonlocal problem
        with anyio.move_on_after(DOWNLOAD_SECONDS) as limit:
            while True:
                if await anyio.to_thread.run_sync(_size_of, directory) > MOST_HELD:
                    break
                await anyio.sleep(LOOK_SECONDS)
        problem = f"took longer than {DOWNLOAD_SECONDS:.0f} s" if limit.cancelled_caught else _TOO_LONG
        await download.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await download.failure()
        tasks.cancel_scope.cancel()
    return f"the download of {safe_name(download.suggested_filename)} {problem}: it was ended" if problem else ""


_TOO_LONG = f"has grown beyond {MOST_HELD >> 20} MiB"


def _size_of(directory: str) -> int:
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
    except FileNotFoundError:  # a file or the directory is gone
        return 0


async def put_all(downloads: Sequence[Download], context: ToolContext) -> list[str]:
    """Put downloads into the workspace once they have ended, and return the outcome of each in words."""
    return [await _put(download, context) for download in downloads]


async def _put(download: Download, context: ToolContext) -> str:
    name = safe_name(download.suggested_filename)
    failure = await download.failure()
    if failure is not None:
        return f"[the download of {name} failed: {failure}]"
    try:
        place = str(await download.path())
        path, size = await anyio.to_thread.run_sync(put_download, place, name, context)
    except ToolError as error:
        return f"[the download of {name} was not kept: {error}]"
    finally:
        await download.delete()
    return f"[downloaded: {path}, {size:,} bytes]"
