"""`Hiding`: tells whether a page shows a secret that was typed, so that no picture is taken of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from playwright.async_api import Page

LOOK_SECONDS = 2.0

NO_PICTURE = "\n[there is no picture while the page shows a secret that was typed]"

_TEXTS = """() => {
  const found = [], look = root => {
    if (root.body || root.host) found.push((root.body || root.host).innerText || '');
    for (const one of root.querySelectorAll('*')) {
      if (one.shadowRoot) look(one.shadowRoot);
      if ('value' in one && one.type !== 'password' && one.value) found.push(String(one.value));
    }
  };
  look(document);
  return found.join('\\n');
}"""
"""Returns all text of a frame except passwords in their fields. The page does not learn what it is compared with."""


class Hiding:
    """The secrets that were typed in a session."""

    def __init__(self) -> None:
        self._values = set[str]()

    def add(self, values: Iterable[str]) -> None:
        """Add secrets that are typed now."""
        self._values.update(filter(None, (_plain(value) for value in values)))

    async def shown(self, page: Page) -> bool:
        """Return whether a page shows one of them. A page that cannot be read in time counts as one that does."""
        if not self._values:
            return False
        from playwright.async_api import Error

        try:
            with anyio.fail_after(LOOK_SECONDS):
                texts = [str(await frame.evaluate(_TEXTS)) for frame in page.frames]
        except (TimeoutError, Error):
            return True
        return any(value in _plain(text) for text in texts for value in self._values)


def _plain(text: str) -> str:
    """Return a text without white space, because pages change that."""
    return "".join(text.split())
