"""The server's settings in a real browser: what new conversations begin with."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from agentrt.server.principals import Scope
from agentrt.testing import finish
from tests.stores import keyring

from .consoles import DESKTOP, PHONE, Tab, console

pytestmark = pytest.mark.long

CANARY = "canary-5up3r-s3cret-v4lue"
SECTIONS = ("Model", "Keys", "Instructions", "MCP servers", "Skills")


async def opened(tab: Tab, section: str) -> Locator:
    """The panel of one of the tabs."""
    dialog = tab.page.get_by_role("dialog", name="Server settings")
    if not await dialog.is_visible():
        await tab.page.keyboard.press("Shift+S")
    await dialog.get_by_role("tab", name=section).click()
    return dialog.get_by_role("tabpanel", name=section)


async def test_what_new_conversations_begin_with(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")] * 2) as server:
        tab = await server.tab()
        instructions = await opened(tab, "Instructions")
        await instructions.get_by_label("Instructions").fill("Count ducks in pairs.")
        await instructions.get_by_role("button", name="Save").click()
        await expect(instructions.get_by_text("Saved")).to_be_visible()
        skills = await opened(tab, "Skills")
        await skills.get_by_label("Name").fill("geese")
        await skills.get_by_label("Trigger words").fill("goose, geese")
        await skills.get_by_label("Text").fill("Geese are counted alone.")
        await skills.get_by_role("button", name="Add").click()
        await expect(skills.get_by_role("listitem")).to_contain_text(["on goose, geese: Geese are counted alone."])
        await skills.get_by_role("button", name="Edit").click()
        await skills.get_by_label("Trigger words").fill("goose")
        await skills.get_by_role("button", name="Replace").click()
        await expect(skills.get_by_role("listitem")).to_contain_text(["on goose: Geese are counted alone."])
        model = await opened(tab, "Model")
        await expect(model.get_by_label(re.compile("^Model"))).to_have_value("openai/scripted")
        await model.get_by_label(re.compile("^Model")).fill("openai/other")
        await model.get_by_role("button", name="Use this model").click()
        await expect(model.get_by_text("Model changed")).to_be_visible()
        await expect(tab.page.get_by_role("tab", name="Model")).to_contain_text("openai/other")
        await tab.page.keyboard.press("Escape")
        await tab.begin("Count the goose")
        await tab.stands("Finished")
        request = server.provider.requests[-1]
        said = json.dumps(request["messages"])
        assert request["model"] == "other"
        assert "Count ducks in pairs." in said
        assert "Geese are counted alone." in said
        model = await opened(tab, "Model")
        await model.get_by_role("button", name="Undo changes").click()
        await expect(model.get_by_label(re.compile("^Model"))).to_have_value("openai/scripted")
        assert tab.problems == []


async def test_a_key_and_the_token_of_an_mcp_server_are_written_and_never_seen_again(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab()
        keys = await opened(tab, "Keys")
        await keys.get_by_label("For").select_option("ANTHROPIC_API_KEY")
        await keys.get_by_label("Key", exact=True).fill(CANARY)
        async with tab.page.expect_request("**/settings/secrets/ANTHROPIC_API_KEY") as sent:
            await keys.get_by_role("button", name="Save key").click()
        assert (await sent.value).post_data_json == {"value": CANARY}
        saved = keys.get_by_role("listitem").filter(has_text="ANTHROPIC_API_KEY")
        await expect(saved).to_contain_text("anthropic, saved here")
        await expect(keys.get_by_label("Key", exact=True)).to_have_value("")
        servers = await opened(tab, "MCP servers")
        given = {"mcpServers": {"tracker": {"command": "no-such-program", "env": {"TRACKER_TOKEN": CANARY}}}}
        await servers.get_by_label("Server").fill(json.dumps(given))
        await servers.get_by_role("button", name="Add").click()
        await expect(servers.get_by_role("listitem")).to_contain_text(["no-such-program"])
        await servers.get_by_label("Server").fill("npx -y other")
        await expect(servers.get_by_text("Give the server a name.")).to_be_visible()
        await servers.get_by_label("Name").fill("other")
        await servers.get_by_role("button", name="Add").click()
        await expect(servers.get_by_role("listitem")).to_contain_text(["no-such-program", "npx -y other"])
        await servers.get_by_role("button", name="Remove other").click()
        await servers.get_by_role("button", name="Really remove other").click()
        await expect(servers.get_by_role("listitem")).to_have_count(1)
        keys = await opened(tab, "Keys")
        await expect(keys.get_by_text("MCP_TRACKER_TRACKER_TOKEN").first).to_be_visible()
        kept = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.documentElement.outerHTML])"
        assert CANARY not in await tab.page.evaluate(kept)
        await saved.get_by_role("button", name="Remove").click()
        await saved.get_by_role("button", name="Really remove").click()
        await expect(saved).to_have_count(0)
        assert not any(CANARY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert tab.problems == []


async def test_it_is_for_admins_and_everybody_can_read_it(tmp_path: Path) -> None:
    keys = keyring(tmp_path / "store")
    admin = await keys.create("root", [Scope.ADMIN])
    owner = await keys.create("ada", [Scope.STEER, Scope.OBSERVE, Scope.APPROVE])
    async with console(tmp_path, [finish("Done.")], store=tmp_path / "store") as server:
        tab = await server.tab()
        await tab.unlock(owner)
        await expect(tab.page.get_by_role("button", name="New conversation").first).to_be_visible()
        await expect(tab.page.get_by_role("button", name="Settings of the server")).to_have_count(0)
        for viewport in (DESKTOP, PHONE):
            other = await server.tab(viewport=viewport)
            await other.unlock(admin)
            if viewport is PHONE:
                await other.page.get_by_role("button", name="Conversations", exact=True).click()
            await other.page.get_by_role("button", name="Settings of the server").click()
            for section in SECTIONS:
                panel = await opened(other, section)
                await expect(panel.get_by_role("button").last).to_be_visible()
                assert await panel.evaluate("one => one.scrollWidth <= one.clientWidth"), section
                assert await other.violations() == []


async def test_the_header_names_the_project_and_its_branch(tmp_path: Path) -> None:
    place = tmp_path / "workspaces" / "invoices"
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "overdue", str(place)], check=True)
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await tab.page.get_by_label(re.compile("^Project")).fill("invoices")
        await tab.page.get_by_label("Task").fill("Work")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Start").click()
        await tab.stands("Finished")
        await expect(tab.page.locator(".fact-place")).to_contain_text("invoices")
        await expect(tab.page.locator("[data-fact=branch]")).to_contain_text("overdue")
