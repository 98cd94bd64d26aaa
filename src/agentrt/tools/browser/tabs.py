"""`Tabs`: the tabs of one conversation by their numbers; `Tab`: a tab as a model is told of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio
import msgspec

from ...errors import ToolError
from .tree import Numbers

if TYPE_CHECKING:
    from playwright.async_api import Page

TITLE_SECONDS = 1.0
"""Seconds to wait for the titles of tabs."""

MOST_TABS = 20
"""Maximum number of tabs that are open at once."""


class Tab(msgspec.Struct, frozen=True):
    """A tab. Actions apply to the `active` one."""

    id: int
    url: str
    title: str
    active: bool = False


class Tabs:
    """The pages in the tabs, and which tab is the active one. A number is never used again."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._pages: dict[int, Page] = {}
        self._numbers: WeakKeyDictionary[Page, Numbers] = WeakKeyDictionary()
        self.active = 0
        """The number of the tab that actions apply to, or 0 for none."""
        self.last = 0
        """The number of the tab that was opened last."""

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def pages(self) -> list[Page]:
        """The pages in the order in which their tabs were opened."""
        return list(self._pages.values())

    @property
    def page(self) -> Page | None:
        """The page in the active tab, or None if it is closed."""
        return self._pages.get(self.active)

    @property
    def full(self) -> bool:
        """Whether no other tab may be opened."""
        return len(self._pages) >= MOST_TABS

    def need_room(self) -> None:
        """Raise `ToolError` if no other tab may be opened."""
        if self.full:
            raise ToolError(_FULL)

    def add(self, page: Page) -> int:
        """Add a tab, and return its number."""
        self.last += 1
        self._pages[self.last] = page
        return self.last

    def remove(self, number: int) -> None:
        """Remove a tab that was closed."""
        self._pages.pop(number, None)

    def clear(self) -> None:
        """Remove all tabs."""
        self._pages.clear()
        self.active = 0

    def get(self, number: int) -> Page:
        """Return the page in a tab. Raises `ToolError`."""
        if number not in self._pages:
            there = ", ".join(map(str, self._pages)) or "none"
            raise ToolError(f"there is no tab {number}: the tabs are {there}")
        return self._pages[number]

    def choose(self, number: int) -> None:
        """Make a tab the active one. Raises `ToolError` if there is none of that number."""
        self.get(number)
        self.active = number

    def choose_page(self, page: Page) -> None:
        """Make the tab of a page the active one. Raises `ToolError` if it was closed because there are too many."""
        number = next((number for number, one in self._pages.items() if one is page), None)
        if number is None:
            raise ToolError(_FULL)
        self.active = number

    def choose_last(self) -> None:
        """Make the tab the active one that was opened last and is still open."""
        self.active = next(reversed(self._pages), 0)

    def numbers(self, page: Page) -> Numbers:
        """Return the numbers of a page's elements."""
        return self._numbers.setdefault(page, Numbers())

    def forget_numbers(self, page: Page) -> None:
        """Forget the numbers of a page's elements, which are gone."""
        self._numbers.pop(page, None)

    async def shown(self) -> list[Tab]:
        """Return all tabs in the order in which they were opened. A tab that hangs has no title."""
        titles = dict[int, str]()

        async def ask(number: int, page: Page) -> None:
            with suppress(self._library.Error):
                titles[number] = await page.title()

        with anyio.move_on_after(TITLE_SECONDS):
            async with anyio.create_task_group() as tasks:
                for number, page in self._pages.items():
                    tasks.start_soon(ask, number, page)
        there = list(self._pages.items())
        return [Tab(number, page.url, titles.get(number, ""), number == self.active) for number, page in there]


_FULL = f"{MOST_TABS} tabs are open, which is the most: close one first"
