"""`Performer`: makes the calls of BrowserGym's action space on a session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ...errors import ToolError
from ...protocols import ToolContext
from .actions import filled
from .files import taken
from .gym import GymCall
from .session import Session

if TYPE_CHECKING:
    from playwright.async_api import Locator

MOST_WAIT_MS = 30_000
"""Maximum milliseconds of one `noop`."""

_BID = re.compile(r"a?(\d{1,9})")


class Performer:
    """Makes the calls of one program, and keeps what they say to the user."""

    def __init__(self, session: Session, context: ToolContext) -> None:
        self._session, self._context = session, context
        self.said: list[str] = []

    async def make(self, call: GymCall) -> None:
        """Make a call. Raises `ToolError` and Playwright's errors."""
        await getattr(self, f"_{call.name}")(**call.arguments)

    def _element(self, bid: str) -> Locator:
        found = _BID.fullmatch(bid)
        if found is None:
            raise ToolError(f"{bid!r} is not a bid: take one that the tree shows in brackets, such as 'a51'")
        return self._session.element(int(found[1]))

    async def _noop(self, wait_ms: float) -> None:
        await anyio.sleep(min(max(wait_ms, 0), MOST_WAIT_MS) / 1000)

    async def _send_msg_to_user(self, text: str) -> None:
        self.said.append(f"To the user: {text}")

    async def _report_infeasible(self, reason: str) -> None:
        self.said.append(f"Reported as infeasible: {reason}. Say so to the user, and finish.")

    async def _scroll(self, delta_x: float, delta_y: float) -> None:
        await (await self._session.page()).mouse.wheel(delta_x, delta_y)

    async def _fill(self, bid: str, value: str) -> None:
        element = self._element(bid)
        await element.fill(await filled(value, self._session, self._context))

    async def _check(self, bid: str) -> None:
        await self._element(bid).check()

    async def _uncheck(self, bid: str) -> None:
        await self._element(bid).uncheck()

    async def _select_option(self, bid: str, options: str | list[str]) -> None:
        await self._element(bid).select_option(options)

    async def _click(self, bid: str, button: Any, modifiers: Any) -> None:
        await self._element(bid).click(button=button, modifiers=modifiers)

    async def _dblclick(self, bid: str, button: Any, modifiers: Any) -> None:
        await self._element(bid).dblclick(button=button, modifiers=modifiers)

    async def _hover(self, bid: str) -> None:
        await self._element(bid).hover()

    async def _press(self, bid: str, key_comb: str) -> None:
        await self._element(bid).press(key_comb)

    async def _focus(self, bid: str) -> None:
        await self._element(bid).focus()

    async def _clear(self, bid: str) -> None:
        await self._element(bid).clear()

    async def _drag_and_drop(self, from_bid: str, to_bid: str) -> None:
        await self._element(from_bid).drag_to(self._element(to_bid))

    async def _upload_file(self, bid: str, file: str | list[str]) -> None:
        await self._element(bid).set_input_files(await self._files(file))

    async def _files(self, file: str | list[str]) -> list[Any]:
        paths = [file] if isinstance(file, str) else file
        return [await anyio.to_thread.run_sync(taken, path, self._context) for path in paths]

    async def _go_back(self) -> None:
        await (await self._session.page()).go_back(wait_until="domcontentloaded")

    async def _go_forward(self) -> None:
        await (await self._session.page()).go_forward(wait_until="domcontentloaded")

    async def _goto(self, url: str) -> None:
        await self._session.go(url)

    async def _new_tab(self) -> None:
        await self._session.open_tab()

    async def _tab_close(self) -> None:
        await (await self._session.page()).close()

    async def _tab_focus(self, index: int) -> None:
        tabs = await self._session.tabs.shown()
        if not 0 <= index < len(tabs):
            raise ToolError(f"there is no tab {index}: there are {len(tabs)}, from 0")
        self._session.tabs.choose(tabs[index].id)

    async def _mouse_move(self, x: float, y: float) -> None:
        await (await self._session.page()).mouse.move(x, y)

    async def _mouse_up(self, x: float, y: float, button: Any) -> None:
        await self._mouse_move(x, y)
        await (await self._session.page()).mouse.up(button=button)

    async def _mouse_down(self, x: float, y: float, button: Any) -> None:
        await self._mouse_move(x, y)
        await (await self._session.page()).mouse.down(button=button)

    async def _mouse_click(self, x: float, y: float, button: Any) -> None:
        await (await self._session.page()).mouse.click(x, y, button=button)

    async def _mouse_dblclick(self, x: float, y: float, button: Any) -> None:
        await (await self._session.page()).mouse.dblclick(x, y, button=button)

    async def _mouse_drag_and_drop(self, from_x: float, from_y: float, to_x: float, to_y: float) -> None:
        mouse = (await self._session.page()).mouse
        await mouse.move(from_x, from_y)
        await mouse.down()
        await mouse.move(to_x, to_y, steps=5)
        await mouse.up()

    async def _mouse_upload_file(self, x: float, y: float, file: str | list[str]) -> None:
        page, files = await self._session.page(), await self._files(file)
        async with page.expect_file_chooser(timeout=5000) as choosing:
            await page.mouse.click(x, y)
        await (await choosing.value).set_files(files)

    async def _keyboard_press(self, key: str) -> None:
        await (await self._session.page()).keyboard.press(key)

    async def _keyboard_up(self, key: str) -> None:
        await (await self._session.page()).keyboard.up(key)

    async def _keyboard_down(self, key: str) -> None:
        await (await self._session.page()).keyboard.down(key)

    async def _keyboard_type(self, text: str) -> None:
        await (await self._session.page()).keyboard.type(await filled(text, self._session, self._context))

    async def _keyboard_insert_text(self, text: str) -> None:
        await (await self._session.page()).keyboard.insert_text(await filled(text, self._session, self._context))
