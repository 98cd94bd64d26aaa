"""Pages that do wrong: an error for the model, a fresh context, and no process left."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import anyio
import psutil
import pytest

from agentrt.errors import ToolError
from agentrt.network.addresses import Guard
from agentrt.network.egress import Egress
from agentrt.tools.browser.chromium import Chromium
from tests.proofs.waiting import eventually

from .driving import Browser, browsing
from .site import site

pytestmark = pytest.mark.long


async def press(browser: Browser, page: str, name: str) -> str:
    """Open a page, and press its button."""
    await browser.do("navigate", url=page)
    return await browser.do("click", index=browser.number(f"button '{name}'"))


async def works(browser: Browser, address: str) -> None:
    """See that the next call does, in a context that has nothing of the one before."""
    assert "heading 'Home'" in await browser.do("navigate", url=address)


async def test_a_dialog_is_closed_and_told(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        said = await press(browser, f"{address}/ask", "Ask")
        assert "[the page showed confirm('Sure?'): it was closed]" in said
        assert "false" in said


async def test_dialogs_without_end(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        with pytest.raises(ToolError, match="were closed|has ended"):
            await press(browser, f"{address}/storm", "Storm")
        await works(browser, address)


async def test_tabs_without_end(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        said = await press(browser, f"{address}/popups", "Open")
        assert said.count("Tab ") <= 20 + 1
        await works(browser, address)


async def test_a_page_that_hangs(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path, step_seconds=3) as browser:
        with pytest.raises(ToolError, match="Begin again in a fresh one|starts another one"):
            await press(browser, f"{address}/hang", "Hang")
        await works(browser, address)


async def test_a_page_without_end(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path, step_seconds=5, most_mib=20) as browser:
        with pytest.raises(ToolError, match="20 MiB|were closed|starts another one"):
            await browser.do("navigate", url=f"{address}/endless")
        await works(browser, address)


async def test_a_page_that_unpacks_to_a_gigabyte(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path, step_seconds=10) as browser:
        with pytest.raises(ToolError):
            await browser.do("navigate", url=f"{address}/gigabyte")
        await works(browser, address)


@pytest.mark.parametrize("name", ["Bomb", "Endless"])
async def test_a_download_that_is_too_long(tmp_path: Path, name: str) -> None:
    async with site() as address, browsing(tmp_path, step_seconds=20, most_mib=20) as browser:
        await browser.do("navigate", url=f"{address}/files")
        said = await browser.do("click", index=browser.number(f"link '{name}'"))
        assert ("beyond 256 MiB" if name == "Bomb" else "failed: canceled") in said
        await works(browser, address)
        assert not list(tmp_path.rglob("*.txt")) + list(tmp_path.rglob("*.bin"))


async def test_a_tab_that_crashes(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        with pytest.raises(ToolError):
            await browser.do("navigate", url="chrome://crash")
        await works(browser, address)
        page = await (await browser.context_session()).page()
        channel = await page.context.new_cdp_session(page)
        with anyio.move_on_after(1):
            await channel.send("Page.crash")
        assert "[tab 1 has crashed]" in await browser.do("get_content")
        await works(browser, address)


async def test_a_browser_that_crashes(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await works(browser, address)
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # one that has ended meanwhile
                if "chrom" in process.name() and "--type=" not in " ".join(process.cmdline()):
                    os.kill(process.pid, signal.SIGKILL)
        with suppress(ToolError):  # where it is known already, another one is started at once
            await browser.do("get_state")
        await works(browser, address)


async def test_private_addresses(tmp_path: Path) -> None:
    async with site() as address, site() as other, browsing(tmp_path) as browser:
        for target in ("http://169.254.169.254/", "http://10.0.0.1/", "http://[::ffff:127.0.0.1]:80/"):
            with pytest.raises(ToolError, match="refused"):
                await browser.do("navigate", url=target)
        await works(browser, address)
        with pytest.raises(ToolError, match="refused"):
            await browser.do("navigate", url=f"{address}/away?to={other}/")
        with pytest.raises(ToolError, match="refused"):
            await browser.do("navigate", url=f"{address}/away?to=http://169.254.169.254/latest/")
    async with site() as address, site() as other, browsing(tmp_path, allow_private="127.0.0.1") as browser:
        await browser.do("navigate", url=f"{address}/away?to={other}/")
        assert "heading 'Home'" in browser.text


async def test_no_process_is_left(tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    async with site() as address, browsing(tmp_path) as browser:
        await works(browser, address)
        started = set(psutil.Process().children(recursive=True)) - before
        assert started
    await eventually(
        lambda: not any(process.is_running() and process.status() != "zombie" for process in started),
        "all have ended",
        10,
    )


@pytest.mark.simulated
async def test_a_name_that_only_looks_like_this_machine_is_looked_up() -> None:
    way_out = Egress(Guard())
    browser = Chromium(cast(Any, None), way_out, (), "")
    for name in ("127.evil.example", "127.0.0.1.evil.example"):
        browser.let_out(name, 80)
        assert not way_out.guard.allows(name, 80)
    for name in ("127.0.0.1", "[::1]", "localhost", "one.localhost"):
        browser.let_out(name, 80)
        assert way_out.guard.allows(name, 80)


async def test_what_is_no_web_address_is_refused(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        for wrong in ("http://[", "localhost:99999", "http://localhost:abc"):
            with pytest.raises(ToolError, match="is not a web address"):
                await browser.do("navigate", url=wrong)


async def test_a_page_sends_no_datagram_past_the_proxy(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
        heard.bind(("127.0.0.1", 0))
        heard.setblocking(False)
        port = heard.getsockname()[1]
        async with site() as address, browsing(tmp_path) as browser:
            await browser.do("navigate", url=address)
            page = await (await browser.context_session()).page()
            await page.evaluate(
                """async (port) => {
                    const at = `127.0.0.1:${port}`, known = {username: 'a', credential: 'b'}
                    const servers = [{urls: `stun:${at}`}, {urls: `turn:${at}`, ...known}]
                    const peer = new RTCPeerConnection({iceServers: servers})
                    peer.createDataChannel('x')
                    await peer.setLocalDescription(await peer.createOffer())
                    await new Promise((done) => setTimeout(done, 1500))
                }""",
                port,
            )
        with pytest.raises(BlockingIOError):
            heard.recv(100)


async def test_a_page_that_is_slow_keeps_its_session(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path, step_seconds=2) as browser:
        await browser.do("navigate", url=f"{address}/store")
        with pytest.raises(ToolError):
            await browser.do("navigate", url=f"{address}/slow")
        await browser.do("navigate", url=f"{address}/store")
        assert "seen=yes|here" in browser.text, "its cookies and what it has stored are there"


async def test_what_begins_between_two_steps_is_told_with_the_next(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await press(browser, f"{address}/later", "Later")
        session = await browser.context_session()
        await eventually(lambda: session.happened.downloads, "it has begun", 10)
        assert "[downloaded: " in await browser.do("list_tabs")


async def test_tabs_that_open_between_two_steps_are_closed_at_once(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await press(browser, f"{address}/popping", "Pop")
        session = await browser.context_session()
        await anyio.sleep(4)
        context = await session.context()
        assert len(context.pages) <= 20 + 5
        await works(browser, address)
