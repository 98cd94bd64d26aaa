"""`Session`: the tabs of one conversation, what they show, and what happened to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from ...errors import ToolError
from ...loading import load_extra
from ...network.addresses import PORTS
from ...protocols import Lease
from .chromium import Chromium
from .downloading import watched
from .happened import Happened
from .hiding import Hiding
from .tabs import MOST_TABS, Tabs
from .tree import Tree, by_index, tree_of

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Download, Frame, Locator, Page

    from .recording import Recording

STEP_SECONDS = 30.0
"""Seconds that an action, or a page to load, may take."""

SETTLE_SECONDS = 0.05
"""Seconds that an action has to begin to load another page."""

LOAD_SECONDS = 10.0
"""Seconds to wait for a page that an action has begun to load."""

OPEN_SECONDS = 10.0
"""Seconds that a tab has to open."""

TAB_SECONDS = 3.0
"""Seconds that a click has to open another tab."""

LONGEST_WORDS = 10_000
"""Maximum characters reported of a dialog's message."""

ANSWER_SECONDS = 3.0
"""Seconds that a page has to answer after it took too long."""

PICTURE_SECONDS = 3.0
"""Seconds that a picture for people may take."""

MOST_DIALOGS = 10
"""Maximum number of dialogs in a step: the tab of a page with more is closed."""


class Session:
    """A context of a browser. It takes one step at a time."""

    def __init__(self, lease: Lease[Chromium], library: Any, seconds: float) -> None:
        self._seconds = seconds
        self._lease, self._browser, self._library = lease, lease.value, library
        self.recording: Recording | None = None
        self._context: BrowserContext | None = None
        self.tabs, self.happened = Tabs(library), Happened()
        self.hiding, self.stored = Hiding(), 0

    @property
    def alive(self) -> bool:
        """Whether its browser runs."""
        return self._browser.alive and not self._lease.ended

    async def ready(self) -> bool:
        """Return whether there is a tab, after opening one if needed. If that fails, end the browser."""
        with anyio.move_on_after(OPEN_SECONDS), suppress(self._library.Error):
            await self.page()
            return True
        self.end_browser()
        return False

    def end_browser(self) -> None:
        """End the browser, which hangs or has ended, so that the next call starts another one."""
        self._lease.end()

    async def page(self) -> Page:
        """Return the page in the active tab, which is opened if there is none."""
        if self.tabs.page is None:
            self.tabs.choose_last()
        return self.tabs.page or await self.open_tab()

    async def context(self) -> BrowserContext:
        """Return its context, which is made with the first tab."""
        if self._context is None:
            self._context = await self._browser.context()
            self._context.set_default_timeout(self._seconds * 1000)
            self._context.on("page", self._opened)
            self._context.on("page", self._crowded)
            self._context.on("dialog", self._asked)
        return self._context

    async def open_tab(self) -> Page:
        """Open another tab, make it the active one, and return its page. Raises `ToolError` if there are too many."""
        self.tabs.need_room()
        page = await (await self.context()).new_page()
        self.tabs.choose_page(page)
        return page

    async def wait_for_tab(self, last: int) -> bool:
        """Wait a while for a tab after the one numbered `last`. Return whether one was opened."""
        context = await self.context()
        if self.tabs.last == last:
            with suppress(self._library.TimeoutError):
                await context.wait_for_event("page", timeout=TAB_SECONDS * 1000)
        return self.tabs.last > last

    def element(self, number: int) -> Locator:
        """Return an element of the active tab by its number. Raises `ToolError`."""
        page = self.tabs.page
        ref = self.tabs.numbers(page).ref(number) if page is not None else None
        if page is None or ref is None:
            raise ToolError(f"there is no element {number}: look at the page first, and take a number that it shows")
        return page.locator(f"aria-ref={ref}")

    async def go(self, url: str) -> None:
        """Load an address in the active tab. Raises `ToolError`."""
        address = url if "://" in url or url.startswith(("about:", "data:")) else f"https://{url}"
        try:
            parts = urlsplit(address)
            port = parts.port or PORTS.get(parts.scheme, 0)
        except ValueError as error:
            raise ToolError(f"{url[:200]!r} is not a web address: {error}") from error
        if parts.scheme not in ("http", "https") and address != "about:blank":
            raise ToolError(f"{url!r} is not a web address: give one with http:// or https://")
        self._browser.let_out(parts.hostname or "", port)
        page = await self.page()
        try:
            response = await page.goto(address, wait_until="domcontentloaded")
        except self._library.Error as error:
            if "Download is starting" in str(error):
                return  # the address is that of a file
            raise
        if response is not None and response.status >= 400:
            why = self._why(response.url)
            self.happened.tell(why or f"{response.url} answered HTTP {response.status} {response.status_text}")
            if why is not None:
                raise ToolError(why)

    async def tree(self, mark: Callable[[int], str] = by_index) -> Tree:
        """Return what the active tab shows."""
        page = await self.page()
        return tree_of(await page.aria_snapshot(mode="ai", boxes=True), self.tabs.numbers(page), mark)

    async def picture(self) -> bytes | None:
        """Return the window of the active tab as JPEG, or None while it shows a secret that was typed."""
        page = await self.page()
        if await self.hiding.shown(page):
            return None
        picture: bytes = await page.screenshot(type="jpeg", quality=60, animations="disabled")
        return None if await self.hiding.shown(page) else picture

    async def quiet_picture(self) -> bytes | None:
        """Return the same for people, or None also if it cannot be taken in time."""
        with anyio.move_on_after(PICTURE_SECONDS), suppress(self._library.Error, ToolError):
            return await self.picture()
        return None

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Run the body as one step: limit its time, and wait for a page that it begins to load.

        Raises `ToolError` that says what to do. If a page hangs or has crashed, all tabs are closed, and the next step
        begins with a fresh one.
        """
        self.happened.dialogs = 0
        self._browser.forget_refusals()
        try:
            with anyio.fail_after(self._seconds + LOAD_SECONDS):
                await self._to_front()
                yield
                await self._settle()
        except TimeoutError as error:
            if await self._answers():
                raise ToolError("the page took too long: loading was stopped, and it shows what it had") from error
            raise await self._lost("the page did not answer in time") from error
        except self._library.TimeoutError as error:
            if await self._answers():
                raise ToolError(_first_line(error)) from error
            raise await self._lost("the page hangs") from error
        except self._library.Error as error:
            raise await self._failed(error) from error

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """Run a body that only looks at the page after a step. Raises errors as `step` does."""
        try:
            with anyio.fail_after(self._seconds):
                await self._to_front()
                yield
        except (TimeoutError, self._library.TimeoutError) as error:
            if await self._answers():
                raise ToolError(_TOO_MUCH) from error
            raise await self._lost("the page hangs") from error
        except self._library.Error as error:
            raise await self._failed(error) from error

    async def _failed(self, error: Exception) -> ToolError:
        """Return a `ToolError` for an error of the library, after closing what no longer works."""
        words = _first_line(error)
        if not self.alive:
            self.end_browser()
            return ToolError("the browser has ended: the next call starts another one, with no tabs")
        if "crashed" in words.lower() or self.happened.dialogs > MOST_DIALOGS or not self.tabs:
            return await self._lost(words)
        host = words.rpartition(" at ")[2] if "net::ERR" in words else ""
        return ToolError(self._why(host) or words)

    def _why(self, url: str) -> str | None:
        """Return why the proxy refused or cut the last connection to the host of an address, or None."""
        with suppress(ValueError):
            parts = urlsplit(url)
            if parts.hostname:
                place = f"{parts.hostname}:{parts.port or PORTS.get(parts.scheme, 443)}"
                return self._browser.refused(place)
        return None

    async def _settle(self) -> None:
        """Wait a while for a page that an action has begun to load."""
        page = self.tabs.page
        if page is None or page.is_closed():
            await self.page()
            return
        await anyio.sleep(SETTLE_SECONDS)
        with suppress(self._library.TimeoutError):
            await page.wait_for_load_state("domcontentloaded", timeout=LOAD_SECONDS * 1000)

    async def _to_front(self) -> None:
        """Bring the active tab to the front: a tab behind another one is not drawn, and stands still."""
        page = await self.page()
        if len(self.tabs) > 1:
            await page.bring_to_front()

    async def _answers(self) -> bool:
        """Stop the active tab's loading, and return whether it still runs scripts: a tab that is only slow does."""
        page = self.tabs.page
        if page is None or page.is_closed():
            return False
        with anyio.move_on_after(ANSWER_SECONDS), suppress(self._library.Error):
            channel = await page.context.new_cdp_session(page)
            await channel.send("Page.stopLoading")
            await channel.detach()
            await page.evaluate("1")
            return True
        return False

    async def _lost(self, why: str) -> ToolError:
        """Close all tabs, which hang or are gone, and return the error. What they have stored is lost."""
        context, self._context, self.recording = self._context, None, None
        self.tabs.clear()
        if context is not None:
            closed = False
            with anyio.CancelScope(shield=True), anyio.move_on_after(5), suppress(self._library.Error):
                await context.close()
                closed = True
            if not closed:
                self.end_browser()
                return ToolError(f"{why}, and so does the browser: the next call starts another one")
        return ToolError(f"{why}: its tabs were closed, with what they had stored. Begin again in a fresh one")

    async def close(self) -> None:
        """Close its tabs."""
        if self._context is not None:
            with anyio.move_on_after(5), suppress(self._library.Error):
                await self._context.close()

    def _opened(self, page: Page) -> None:
        if self.tabs.full:
            self.happened.tell(f"the page opened more than {MOST_TABS} tabs: the last ones were closed", once=True)
            return
        number = self.tabs.add(page)
        page.on("close", lambda _: self.tabs.remove(number))
        page.on("crash", lambda _: self._crashed(number))
        page.on("download", self._downloads)
        page.on("framenavigated", lambda frame: self._navigated(frame, page))
        if self.tabs.active:
            self.happened.tell(f"tab {number} was opened")

    async def _crowded(self, page: Page) -> None:
        """Close a tab at once if there are too many."""
        if page not in self.tabs.pages:
            with suppress(self._library.Error):
                await page.close()

    def _navigated(self, frame: Frame, page: Page) -> None:
        if frame == page.main_frame:
            self.tabs.forget_numbers(page)

    def _crashed(self, number: int) -> None:
        self.tabs.remove(number)
        self.happened.tell(f"tab {number} has crashed")

    async def _downloads(self, download: Download) -> None:
        if not self._browser.downloads:
            self.happened.tell("a download was not kept: in this place, download with a command", once=True)
        kept = bool(self._browser.downloads) and self.happened.keep(download)
        with suppress(self._library.Error):
            if not kept:
                await download.cancel()
            elif problem := await watched(download, self._browser.downloads):
                self.happened.tell(problem)

    async def _asked(self, dialog: Dialog) -> None:
        """Close a dialog at once and report it, because nobody sees it."""
        self.happened.dialogs += 1
        page = dialog.page
        with suppress(self._library.Error):
            if self.happened.dialogs > MOST_DIALOGS and page is not None:
                if self.happened.dialogs == MOST_DIALOGS + 1:
                    self.happened.tell("the page shows dialogs without end: its tab was closed")
                await page.close()
                return
            self.happened.tell(f"the page showed {dialog.type}({dialog.message[:LONGEST_WORDS]!r}): it was closed")
            await (dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())


@asynccontextmanager
async def session(browser: Lease[Chromium], seconds: float = STEP_SECONDS) -> AsyncIterator[Session]:
    """Open a session in a leased browser, and release the lease afterwards."""
    library = await load_extra("playwright.async_api", "browser")
    try:
        made = Session(browser, library, seconds)
        try:
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                await made.close()
    finally:
        browser.release()


_TOO_MUCH = "the page cannot be looked at in time: it has too much, or changes all the time"


def _first_line(error: Exception) -> str:
    """Return the library's message without its log of the call."""
    first = str(error).strip().split("\n")[0]
    return first.rpartition("Error: ")[2] or first
