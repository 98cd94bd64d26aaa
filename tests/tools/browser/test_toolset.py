"""The `browser_*` tools in a real Chromium."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from PIL import Image, ImageSequence

from agentrt.errors import ToolError
from agentrt.secrets import SecretRegistry
from agentrt.specs import ImageContent
from agentrt.specs.content import plain
from agentrt.tools.browser.observed import observed
from agentrt.tools.browser.tabs import MOST_TABS
from tests.proofs.waiting import eventually

from .driving import browsing
from .site import site

pytestmark = pytest.mark.long


async def test_every_action_of_the_set(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        said = await browser.do("navigate", url=address)
        assert said.startswith(f"Went to {address}.\nPage: {address}/ 'Home'")
        assert browser.last is not None
        assert (browser.last.url, browser.last.title, browser.last.labels) == (f"{address}/", "Home", ("web",))
        assert browser.last.picture is not None
        assert "clicked" in await browser.do("click", index=browser.number("button 'Press'"))
        assert "Ada" in await browser.do("type", index=browser.number("textbox 'Name'"), text="Ada")
        assert "inner" in await browser.do("click", index=browser.number("button 'Inner'"))
        await browser.do("get_state", include_screenshot=True)
        assert browser.last is not None
        assert any(isinstance(block, ImageContent) for block in browser.last.content)
        said = await browser.do("click", index=browser.number("link 'Other page'"), new_tab=True)
        assert "[tab 2 was opened]" in said
        assert "opened no other tab" in await browser.do("click", index=browser.number("button 'Press'"), new_tab=True)
        await browser.do("switch_tab", tab_id=2)
        assert "Words of the other page." in await browser.do("get_content", extract_links=True)
        assert f"- Home: {address}/" in browser.text
        assert "2 (active)" in await browser.do("list_tabs")
        assert "1 (active)" in await browser.do("close_tab", tab_id=2) + await browser.do("list_tabs")
        await browser.do("navigate", url=f"{address}/other")
        assert "heading 'Home'" in await browser.do("go_back")
        await browser.do("navigate", url=f"{address}/long", new_tab=True)
        assert "Scrolled down by 640 pixels." in await browser.do("scroll", direction="down")
        assert "Scrolled up by 640 pixels." in await browser.do("scroll", direction="up")


async def test_what_happens_while_the_page_is_looked_at_is_told_at_once(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.do("navigate", url=address)
        session = await browser.context_session()
        async with session.step():
            pass
        page = await session.page()
        await page.evaluate("open('/other')")
        await eventually(lambda: session.happened.told, "the tab is there", 10)
        seen = await observed(session, browser.context, "Said.")
        assert "[tab 2 was opened]" in plain(seen.content)
        assert "was opened" not in await browser.do("list_tabs"), "once"


async def test_a_long_text_is_read_part_by_part(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.do("navigate", url=f"{address}/long")
        whole = await browser.do("get_content")
        assert "Paragraph 399." in whole
        assert (await browser.do("get_content", start_from_char=100)).startswith(whole[100:140])


async def test_storage_is_read_and_set(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.do("navigate", url=f"{address}/store")
        state = json.loads((await browser.do("get_storage")).partition("\n")[0])
        assert [(one["name"], one["value"]) for one in state["cookies"]] == [("seen", "yes")]
        assert state["origins"][0]["localStorage"] == [{"name": "kept", "value": "here"}]
        await browser.do("navigate", url="about:blank")
        state["cookies"][0]["value"] = "changed"
        state["origins"][0]["localStorage"][0]["value"] = "put"
        await browser.do("set_storage", storage_state=state)
        await browser.do("navigate", url=f"{address}/store", new_tab=True)
        assert "seen=changed|put" in browser.text
        with pytest.raises(ToolError, match="lists 'cookies' and 'origins'"):
            await browser.do("set_storage", storage_state={"cookie": 1})


async def test_what_is_recorded_becomes_a_file(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.do("navigate", url=address)
        await browser.do("start_recording")
        with pytest.raises(ToolError, match="recorded already"):
            await browser.do("start_recording")
        assert "recordings/recording.webp" in await browser.do("stop_recording")
        film = (tmp_path / "recordings/recording.webp").read_bytes()
        assert film[8:12] == b"WEBP"
        assert browser.last is not None
        assert browser.last.picture is not None
        assert (browser.last.picture.name, browser.context.kept[browser.last.picture.sha256]) == ("recording", film)
        with pytest.raises(ToolError, match="nothing is recorded"):
            await browser.do("stop_recording")


async def test_wrong_numbers_are_told(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.do("navigate", url=address)
        with pytest.raises(ToolError, match="there is no element 999"):
            await browser.do("click", index=999)
        with pytest.raises(ToolError, match="there is no tab 7"):
            await browser.do("switch_tab", tab_id=7)
        with pytest.raises(ToolError, match="is not a web address"):
            await browser.do("navigate", url="file:///etc/passwd")


async def test_more_tabs_than_may_be_open_are_refused(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.do("navigate", url=address)
        for _ in range(MOST_TABS - 1):
            await browser.do("navigate", url=address, new_tab=True)
        link = browser.number("link 'Other page'")
        with pytest.raises(ToolError, match="20 tabs are open, which is the most: close one first"):
            await browser.do("navigate", url=address, new_tab=True)
        with pytest.raises(ToolError, match="close one first"):
            await browser.do("click", index=link, new_tab=True)
        assert "Error: call 1 of 1, new_tab: 20 tabs are open" in await browser.code("new_tab()")
        await browser.do("close_tab", tab_id=1)
        assert "[tab 21 was opened]" in await browser.do("click", index=link, new_tab=True)


async def test_downloads_go_into_the_workspace(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.do("navigate", url=f"{address}/files")
        said = await browser.do("click", index=browser.number("link 'Get it'"))
        assert f"[downloaded: {tmp_path}/downloads/_da ta.bin, 1,000 bytes]" in said
        await browser.do("navigate", url=f"{address}/download")
        assert sorted(path.name for path in (tmp_path / "downloads").iterdir()) == ["_da ta-2.bin", "_da ta.bin"]


async def test_a_secret_that_is_typed_is_seen_nowhere(tmp_path: Path) -> None:
    async with site() as address:
        registry = SecretRegistry({"PASSWORD": "hunter2-hunter2"})
        async with browsing(tmp_path, registry) as browser:
            await browser.do("navigate", url=f"{address}/login")
            said = await browser.do("type", index=browser.number("textbox 'Password'"), text="$PASSWORD")
            assert "hunter2" not in said
            assert "<secret-hidden>" in said, "the field has it"
            await browser.do("get_state", include_screenshot=True)
            assert "hunter2" not in repr(browser.last)


async def test_conversations_have_contexts_of_their_own(tmp_path: Path) -> None:
    async with site() as address:
        async with browsing(tmp_path) as one, browsing(tmp_path) as other:
            await one.do("navigate", url=f"{address}/store")
            assert "|null" in one.text
            await other.do("navigate", url=f"{address}/store")
            assert "|null" in other.text


async def test_what_shows_a_secret_is_in_no_picture_and_no_recording(tmp_path: Path) -> None:
    registry = SecretRegistry({"TOKEN": "two  spaces-xyz9"})
    async with site() as address, browsing(tmp_path, registry) as browser:
        await browser.do("navigate", url=address)
        assert browser.last is not None
        assert browser.last.picture is not None
        await browser.do("start_recording")
        await browser.do("get_state")
        await browser.do("type", index=browser.number("textbox 'Name'"), text="$TOKEN")
        assert browser.last.picture is None
        session = await browser.context_session()
        page = await session.page()
        await page.evaluate("history.pushState({}, '', '#moved')")
        await browser.code("keyboard_press('Tab')", screenshot="plain")
        assert "there is no picture while the page shows a secret" in browser.text
        assert browser.last.picture is None
        await page.evaluate("document.body.style.background = 'red'")
        await browser.do("scroll")
        await browser.do("navigate", url=f"{address}/other")
        assert browser.last.picture is not None
        recording = session.recording
        assert recording is not None
        frames, blues = recording.frames, itertools.cycle(("blue", "navy"))

        async def recorded() -> bool:
            await page.evaluate(f"document.body.style.background = '{next(blues)}'")
            return recording.frames > frames + 3  # the first of them may be older

        await eventually(recorded, "it is recorded again")
        await browser.do("stop_recording")
    with Image.open(tmp_path / "recordings/recording.webp") as film:
        shown = {_corner(frame) for frame in ImageSequence.Iterator(film)}
    assert "blue" in shown
    assert "red" not in shown


def _corner(frame: Image.Image) -> str:
    """The color that is strongest at the lower right of a picture; "" if none is."""
    width, height = frame.size
    red, green, blue = frame.convert("RGB").getpixel((width - 5, height - 5))  # type: ignore[misc]
    return "red" if red > 2 * max(green, blue) else "blue" if blue > 2 * max(red, green) else ""
