"""`Recording`: what a tab shows over some time, as an animated picture that any browser plays."""

from __future__ import annotations

import base64
import io
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from ...errors import ToolError
from ...loading import load_extra
from .hiding import Hiding

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

MOST_FRAMES = 600
SHORTEST = 0.25
"""Minimum seconds between two frames."""

LONGEST = 5.0
"""Maximum seconds for which a frame is shown: long pauses are shortened."""

WIDTH, HEIGHT = 960, 600


class Recording:
    """Frames of one tab, from `begun` to `finished`."""

    def __init__(self, page: Page, channel: CDPSession, hiding: Hiding) -> None:
        self._page, self._channel, self._hiding = page, channel, hiding
        self._hides = False
        self._frames: list[tuple[float, bytes]] = []
        self.full = False
        """Whether it has as many frames as allowed."""

    @classmethod
    async def begun(cls, page: Page, hiding: Hiding) -> Recording:
        """Begin to record a tab, except what shows a secret (Chrome DevTools Protocol, Page.startScreencast)."""
        recording = cls(page, await page.context.new_cdp_session(page), hiding)
        recording._channel.on("Page.screencastFrame", recording._drawn)
        await recording._channel.send(
            "Page.startScreencast", {"format": "jpeg", "quality": 60, "maxWidth": WIDTH, "maxHeight": HEIGHT}
        )
        return recording

    @property
    def frames(self) -> int:
        """The number of frames so far."""
        return len(self._frames)

    async def _drawn(self, frame: dict[str, Any]) -> None:
        now = time.monotonic()
        self.full = len(self._frames) >= MOST_FRAMES
        before, self._hides = self._hides, await self._hiding.shown(self._page)
        wanted = not self._frames or now - self._frames[-1][0] >= SHORTEST
        if not self.full and wanted and not before and not self._hides:
            self._frames.append((now, base64.b64decode(frame["data"])))
        from playwright.async_api import Error  # the tab may be gone

        with suppress(Error):
            await self._channel.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    async def finished(self) -> tuple[bytes, int, float]:
        """Return the recording as an animated WebP, its frames and its seconds. Raises `ToolError` without a frame."""
        from playwright.async_api import Error

        with suppress(Error):
            await self._channel.send("Page.stopScreencast")
            await self._channel.detach()
        if not self._frames:
            raise ToolError("nothing was drawn while it was recorded")
        pillow = await load_extra("PIL.Image", "browser")
        ended, frames = time.monotonic(), self._frames
        times = [at for at, _ in frames]
        shown = [min(after - at, LONGEST) for at, after in zip(times, [*times[1:], ended], strict=True)]
        data = await anyio.to_thread.run_sync(_animated, pillow, [frame for _, frame in frames], shown)
        return data, len(frames), sum(shown)


def _animated(pillow: Any, frames: list[bytes], seconds: list[float]) -> bytes:
    pictures = [pillow.open(io.BytesIO(frame)).convert("RGB") for frame in frames]
    size, made = pictures[0].size, io.BytesIO()
    first, *others = [one if one.size == size else one.resize(size) for one in pictures]
    durations = [max(int(one * 1000), 20) for one in seconds]
    first.save(made, "WEBP", save_all=True, append_images=others, duration=durations, loop=0, quality=50, method=0)
    return made.getvalue()
