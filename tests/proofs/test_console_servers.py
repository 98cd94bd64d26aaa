"""MCP servers in the console: what they ask, how they stand, and a login, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from agentrt.specs import ConfirmRisky, PermissionRule
from agentrt.testing import call, finish
from tests.mcp import serving
from tests.mcp.warm import server_of

from .consoles import PATIENCE, console

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("warm_servers")]

DEMO = server_of()


async def test_a_form_is_filled_in_and_the_servers_are_shown(tmp_path: Path) -> None:
    servers = {"demo": DEMO, "gone": {"command": "no-such-program"}}
    given: dict[str, Any] = {"mcp_servers": servers, "rules": (PermissionRule("allow", "choose"),)}
    async with console(tmp_path, [call("choose"), finish("Chosen.")], confirmation=ConfirmRisky(), **given) as server:
        tab = await server.tab()
        await tab.begin("Choose")
        form = tab.page.get_by_role("form").filter(has_text="Which colour?")
        await form.get_by_role("textbox").fill("red")
        assert await tab.violations() == []
        await form.get_by_role("button").first.click()
        await tab.stands("Finished")
        log = await server.log(tab.id)
        said = [event["content"][0]["text"] for event in log if event["type"] == "ObservationEvent"]
        assert said[0] == "accept red"

        await tab.press("MCP servers")
        panel = tab.page.get_by_role("complementary", name="MCP servers")
        demo = panel.get_by_role("region", name="demo")
        await expect(demo.get_by_text("ready · process · ")).to_be_visible(timeout=PATIENCE)
        await demo.get_by_text("Tools (").click()
        await expect(demo.get_by_text("multiply", exact=True)).to_be_visible()
        gone = panel.get_by_role("region", name="gone")
        await expect(gone.get_by_text("there is no program 'no-such-program'")).to_be_visible()
        await gone.get_by_role("button", name="Reconnect").click()
        await expect(gone.get_by_text("there is no program 'no-such-program'")).to_be_visible()
        assert await tab.violations() == []
        assert tab.problems == []


async def test_a_person_logs_in(tmp_path: Path) -> None:
    port = serving.free_port()
    servers = {"web": {"url": f"http://127.0.0.1:{port}/mcp"}}
    async with (
        serving.served(port, "tests.mcp.authorized"),
        console(tmp_path, [finish("Done.")], mcp_servers=servers) as server,
    ):
        tab = await server.tab()
        await tab.begin("Go")
        await tab.stands("Finished")
        await tab.press("MCP servers")
        web = tab.page.get_by_role("complementary", name="MCP servers").get_by_role("region", name="web")
        await web.get_by_role("button", name="Log in").click()
        async with tab.page.expect_popup() as opened:
            await web.get_by_role("link", name="Open the login page of web").click()
        popup = await opened.value
        await expect(popup.get_by_text("You are logged in, and can close this page.")).to_be_visible(timeout=PATIENCE)
        await expect(web.get_by_text("ready · HTTP · ")).to_be_visible(timeout=PATIENCE)
        await web.get_by_role("button", name="Log out").click()
        await expect(web.get_by_role("button", name="Log in")).to_be_visible(timeout=PATIENCE)
        assert tab.problems == []
