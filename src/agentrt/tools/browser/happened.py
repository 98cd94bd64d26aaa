"""`Happened`: what happened to the tabs of a browser, until a model is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Download

MOST_TOLD = 50
"""Maximum number of events that a model is told at once."""

MOST_DOWNLOADS = 10
"""Maximum number of downloads that are kept until a model is told."""


class Happened:
    """What happened since a model was told last, in words; the downloads that began; the dialogs of this step."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.downloads: list[Download] = []
        self.dialogs = 0

    def tell(self, words: str, *, once: bool = False) -> None:
        """Add an event, unless there are too many. `once`: or if it is there already."""
        if len(self.told) < MOST_TOLD and not (once and words in self.told):
            self.told.append(words)

    def keep(self, download: Download) -> bool:
        """Add a download, unless there are too many. Return whether it was added."""
        if len(self.downloads) >= MOST_DOWNLOADS:
            return False
        self.downloads.append(download)
        return True

    def take_told(self) -> list[str]:
        """Return the events, and begin anew."""
        told, self.told = self.told, []
        return told

    def take_downloads(self) -> list[Download]:
        """Return the downloads, and begin anew."""
        downloads, self.downloads = self.downloads, []
        return downloads
