"""Delegated conversations in the console, in a real browser: the tree at the left, and the card in the transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from agentrt import LLM, Agent, Conversation, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.testing.provider import Script
from agentrt.testing.turns import Stall, Turn

from .consoles import PATIENCE, Tab, console

pytestmark = pytest.mark.long

TOOLS = (Tool("delegate"), Tool("terminal"))
RISKY = call("terminal", "I clean up.", command="rm -rf build && git push --force origin main")


def _script(plays: dict[str, list[Turn]]) -> Script:
    """What the model says to each task, in order."""

    def reply(request: dict[str, Any]) -> Turn:
        said = request["messages"]
        task = next(str(message["content"]) for message in said if message["role"] == "user")
        turns = next(turns for name, turns in plays.items() if name in task)
        return turns[[message["role"] for message in said].count("assistant")]

    return reply


def _delegate(*tasks: str) -> ModelReply:
    return calls(*(("delegate", {"task": task}) for task in tasks))


def _row(tab: Tab, name: str) -> Locator:
    """The line of a conversation in the list."""
    return tab.page.locator(".conversation", has_text=name)


async def test_children_stand_below_their_parent_and_in_its_transcript(tmp_path: Path) -> None:
    plays: dict[str, list[Turn]] = {
        "Look everywhere": [_delegate("Look in the attic", "Look in the cellar"), finish("Seen.")],
        "attic": [finish("Nothing but **dust**.")],
        "cellar": [finish("A pelican.")],
    }
    async with console(tmp_path, _script(plays), tools=TOOLS) as server:
        tab = await server.tab()
        await tab.begin("Look everywhere")
        parent = tab.id
        await tab.stands("Finished")
        cards = tab.page.locator(".entry-action .child")
        await expect(cards).to_have_count(2)
        await expect(cards.first).to_contain_text("Finished")
        await expect(tab.page.locator(".report strong")).to_have_text("dust")
        unfold = tab.page.get_by_role("button", name="2 delegated conversations of Look everywhere")
        await expect(unfold).to_have_attribute("aria-expanded", "false", timeout=PATIENCE)
        await expect(_row(tab, "attic")).to_have_count(0)
        await unfold.click()
        below = tab.page.get_by_role("list", name="Delegated by Look everywhere")
        await expect(below.get_by_role("link")).to_have_count(2)
        await _row(tab, "Look everywhere").focus()
        await tab.page.keyboard.press("ArrowLeft")
        await expect(below).to_have_count(0)
        await tab.page.keyboard.press("ArrowRight")
        await _row(tab, "cellar").click()
        await tab.sees("A pelican.")
        await expect(tab.page.locator(".header .header-parent")).to_contain_text("Delegated by Look everywhere")
        await tab.page.locator(".header .header-parent").click()
        await tab.page.wait_for_url(f"**/#/{parent}")
        await tab.page.get_by_role("link", name="Open the conversation: Look in the attic").click()
        await tab.sees("Nothing but")
        assert tab.problems == []


async def test_one_that_is_at_work_is_seen_at_work(tmp_path: Path) -> None:
    plays: dict[str, list[Turn]] = {
        "Look everywhere": [_delegate("Look in the attic"), finish("Seen.")],
        "attic": [Stall("It is dark.", 60), finish("Nothing.")],
    }
    async with console(tmp_path, _script(plays), tools=TOOLS) as server:
        tab = await server.tab()
        await tab.begin("Look everywhere")
        card = tab.page.locator(".entry-action .child")
        await expect(card).to_contain_text("Running", timeout=PATIENCE)
        # what is at work is shown without being asked for
        await expect(_row(tab, "attic").locator(".status-running")).to_have_count(1, timeout=PATIENCE)
        await card.get_by_role("link").click()
        await expect(tab.page.locator(".entry-growing")).to_contain_text("It is dark", timeout=PATIENCE)
        await tab.stands("Running")
        await _row(tab, "Look everywhere").click()
        await tab.page.get_by_role("button", name="Interrupt").click()
        await tab.stands("Paused")
        assert tab.problems == []


async def test_what_waits_in_a_child_is_answered_from_its_card(tmp_path: Path) -> None:
    plays: dict[str, list[Turn]] = {
        "Publish it all": [_delegate("Publish the docs"), finish("All is out.")],
        "the docs": [RISKY, finish("The docs are out.")],
    }
    async with console(tmp_path, _script(plays), tools=TOOLS) as server:
        tab = await server.tab()
        await tab.begin("Publish it all")
        await tab.stands("Needs approval")
        card = tab.page.locator(".entry-action .child")
        await expect(card).to_contain_text("git push --force")
        await expect(card.locator(".risk-high")).to_be_visible()
        assert await tab.violations() == []
        await expect(_row(tab, "the docs").locator(".status-waiting_for_confirmation")).to_have_count(
            1, timeout=PATIENCE
        )
        await card.get_by_role("button", name="Approve").click()
        await tab.stands("Finished")
        await expect(card).to_contain_text("Finished")
        assert tab.problems == []


async def test_what_waits_in_a_child_is_answered_in_it(tmp_path: Path) -> None:
    plays: dict[str, list[Turn]] = {
        "Publish it all": [_delegate("Publish the docs"), finish("All is out.")],
        "the docs": [RISKY, finish("The docs are out.")],
    }
    async with console(tmp_path, _script(plays), tools=TOOLS) as server:
        tab = await server.tab()
        await tab.begin("Publish it all")
        await tab.stands("Needs approval")
        await _row(tab, "the docs").click()
        await tab.stands("Needs approval")
        await tab.page.keyboard.press("a")
        await tab.sees("The docs are out.")
        await tab.page.locator(".header-parent").click()
        await tab.stands("Finished")
        assert tab.problems == []


async def test_one_that_someone_else_has_open_can_be_read(tmp_path: Path) -> None:
    name = "held-elsewhere"
    (tmp_path / "workspaces" / "held").mkdir(parents=True)
    client = ScriptedLLM([say("It was held.")])
    async with console(tmp_path, [say("Hello.")], store=tmp_path / "store") as server:
        async with Runtime(tmp_path / "store", client=client) as runtime:
            agent, workspace = Agent(llm=LLM(model="scripted/model")), tmp_path / "workspaces" / "held"
            async with Conversation(agent, workspace, id=name, runtime=runtime) as held:
                await held.send_message("Hold on")
                await held.run()
                tab = await server.tab(f"/#/{name}")
                await tab.sees("It was held.")
                await expect(tab.page.locator(".toast")).to_have_count(0)
                await held.rename("Held elsewhere")
                await tab.sees("Held elsewhere")
        await expect(tab.page.get_by_label("Message to the agent")).to_be_visible()
