"""The console's settings in a real browser: what a person changes while a conversation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from agentrt.server.principals import Scope
from agentrt.testing import call, finish
from agentrt.testing.turns import Stall
from tests.stores import keyring

from .consoles import PATIENCE, PHONE, SECTIONS, Console, Tab, console

pytestmark = pytest.mark.long

RISKY = call("terminal", "I publish it.", command="git push --force origin main")
HARMLESS = call("terminal", "I look.", command="ls")
MODEL = re.compile("^Model")
CANARY = "canary-5up3r-s3cret-v4lue"


async def _types(server: Console, tab: Tab) -> list[str]:
    return [event["type"] for event in await server.log(tab.id)]


async def test_another_model_answers_while_it_runs(tmp_path: Path) -> None:
    async with console(tmp_path, [Stall("Let me think.", 60), finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Think")
        await expect(tab.page.locator(".entry-growing")).to_contain_text("Let me think", timeout=PATIENCE)
        model = await tab.settings("Model")
        await expect(model.get_by_label(MODEL)).to_have_value("openai/scripted")
        await model.get_by_label(MODEL).fill("openai/other")
        await model.get_by_label("Reasoning effort").select_option("high")
        await model.get_by_role("button", name="Use this model").click()
        await expect(model.get_by_text("Model changed")).to_be_visible()
        await tab.page.keyboard.press("Escape")
        await tab.sees("Model: openai/other")
        await expect(tab.page.locator(".fact-model")).to_have_text("openai/other")
        await tab.page.get_by_role("button", name="Interrupt").click()
        await tab.stands("Paused")
        await tab.page.get_by_role("button", name="Run", exact=True).click()
        await tab.stands("Finished")
        last = server.provider.requests[-1]
        assert (last["model"], last["reasoning_effort"]) == ("other", "high")
        assert tab.problems == []


async def test_who_is_asked_and_who_rates(tmp_path: Path) -> None:
    async with console(tmp_path, [HARMLESS, HARMLESS, finish("Done.")]) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await tab.page.get_by_role("button", name="Create").click()
        await tab.page.wait_for_url("**/#/*")
        approval = await tab.settings("Approval")
        await expect(approval.get_by_role("radio", name="Ask about risky actions")).to_be_checked()
        await expect(approval.get_by_role("button", name="Save")).to_be_disabled()
        await approval.get_by_role("radio", name="Ask about every action").check()
        await approval.get_by_role("checkbox", name="The model itself").check()
        await approval.get_by_role("button", name="Save").click()
        await expect(approval.get_by_text("Applies from now on")).to_be_visible()
        await tab.page.keyboard.press("Escape")
        await tab.page.get_by_label("Message to the agent").fill("Look")
        await tab.page.keyboard.press("Enter")
        await tab.stands("Needs approval")
        approval = await tab.settings("Approval")
        await expect(approval.get_by_role("checkbox", name="The model itself")).to_be_checked()
        await approval.get_by_role("radio", name="Never ask").check()
        await approval.get_by_role("button", name="Save").click()
        await tab.stands("Finished")
        changed = [e for e in await server.log(tab.id) if e["type"] == "ConversationStateUpdateEvent"]
        assert [(e["key"], e["value"]) for e in changed][-2:] == [
            ("analyzer", ["rules", "model"]),
            ("confirmation", {"type": "NeverConfirm"}),
        ]
        assert tab.problems == []


async def test_a_rule_is_added_and_taken_back(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, RISKY, finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Publish")
        await tab.stands("Needs approval")
        rules = await tab.settings("Rules")
        await expect(rules.get_by_text("No rules")).to_be_visible()
        await rules.get_by_label("Tool").fill("terminal")
        await rules.get_by_label("Pattern").fill("git push *")
        await rules.get_by_role("button", name="Add").click()
        await expect(rules.get_by_role("listitem")).to_contain_text(["terminal git push *"])
        await tab.stands("Finished")
        await rules.get_by_role("radio", name="Deny").check()
        await rules.get_by_label("Tool").fill("terminal")
        await rules.get_by_label("Applies to").select_option("project")
        await rules.get_by_role("button", name="Add").click()
        await expect(rules.get_by_role("listitem")).to_contain_text(["in this conversation", "in this project"])
        types = await _types(server, tab)
        assert (types.count("ConfirmationRequested"), types.count("RuleAdded")) == (1, 2)
        for what in ("deny terminal *", "allow terminal git push *"):
            await rules.get_by_role("button", name=f"Remove {what}").click()
            await rules.get_by_role("button", name=f"Really remove {what}").click()
            await expect(rules.get_by_role("button", name=f"Remove {what}")).to_have_count(0)
        await expect(rules.get_by_text("No rules")).to_be_visible()
        await expect(rules.get_by_text("Rule removed")).to_be_visible()
        removed = [
            (e["rule"]["verdict"], e.get("scope")) for e in await server.log(tab.id) if e["type"] == "RuleRemoved"
        ]
        assert removed == [("deny", "project"), ("allow", None)]
        assert tab.problems == []


async def test_a_rule_is_removed_while_others_change(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, finish("Done.")]) as server:
        tab, other = await server.tab(), await server.tab()
        await tab.begin("Publish")
        await tab.stands("Needs approval")
        rules = await tab.settings("Rules")
        await rules.get_by_label("Tool").fill("browse*")
        await rules.get_by_role("button", name="Add").click()
        await rules.get_by_role("button", name="Remove allow browse*").click()
        await expect(rules.get_by_role("button", name="Really remove allow browse*")).to_be_visible()
        await other.page.goto(tab.page.url)
        elsewhere = await other.settings("Rules")
        await elsewhere.get_by_label("Tool").fill("grep")
        await elsewhere.get_by_role("button", name="Add").click()
        await expect(rules.get_by_role("listitem")).to_have_count(2)
        await rules.get_by_role("button", name="Really remove allow browse*").click()
        await expect(rules.get_by_role("listitem")).to_contain_text(["grep"])


async def test_a_goal_is_set_and_removed(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Work")
        await tab.stands("Finished")
        goal = await tab.settings("Goal")
        await goal.get_by_label("Goal").fill("All tests pass")
        await goal.get_by_label("Maximum number of judgements").fill("3")
        await goal.get_by_role("button", name="Set goal").click()
        await expect(goal.get_by_text("Judged 0 of 3 times: not reached yet")).to_be_visible()
        await goal.get_by_role("button", name="Remove goal").click()
        await expect(goal.get_by_text("Judged 0 of")).to_have_count(0)
        await expect(goal.get_by_label("Goal")).to_have_value("")
        found = [e for e in await server.log(tab.id) if e["type"] == "GoalSet"]
        assert [(e["objective"], e.get("max_iterations")) for e in found] == [("All tests pass", 3), ("", 3)]


async def test_what_it_may_spend(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Work")
        await tab.stands("Finished")
        budget = await tab.settings("Budget")
        await expect(budget.get_by_text("There is no limit")).to_be_visible()
        await budget.get_by_label("Total limit (USD)").fill("2")
        await budget.get_by_role("button", name="Save").click()
        await expect(budget.get_by_text(re.compile(r"of \$2\.00 spent"))).to_be_visible()
        await budget.get_by_role("button", name="$5").click()
        await budget.get_by_role("button", name="Grant", exact=True).click()
        await expect(budget.get_by_text(re.compile(r"of \$7\.00 spent"))).to_be_visible()
        log = await server.log(tab.id)
        assert [event["amount"] for event in log if event["type"] == "BudgetGranted"] == [5]
        limits = [event["value"] for event in log if event.get("key") == "limits"]
        assert [limit["max_cost"] for limit in limits] == [2]


async def test_a_secret_is_written_and_never_seen_again(tmp_path: Path) -> None:
    async with console(tmp_path, [call("terminal", command="echo $API_TOKEN"), finish("Done.")]) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await tab.page.get_by_role("button", name="Create").click()
        await tab.page.wait_for_url("**/#/*")
        secrets = await tab.settings("Secrets")
        await secrets.get_by_label("Name").fill("API_TOKEN")
        await secrets.get_by_label("Value").fill(CANARY)
        async with tab.page.expect_request("**/secrets") as sent:
            await secrets.get_by_role("button", name="Add").click()
        assert (await sent.value).post_data_json == {"secrets": {"API_TOKEN": CANARY}}
        await expect(secrets.get_by_role("listitem")).to_contain_text(["API_TOKEN"])
        await expect(secrets.get_by_label("Value")).to_have_value("")
        await tab.page.keyboard.press("Escape")
        await tab.page.get_by_label("Message to the agent").fill("Use it")
        await tab.page.keyboard.press("Enter")
        await tab.stands("Finished")
        kept = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.documentElement.outerHTML])"
        assert CANARY not in await tab.page.evaluate(kept)
        assert CANARY not in str(await server.log(tab.id))
        secrets = await tab.settings("Secrets")
        await secrets.get_by_role("button", name="Remove").click()
        await secrets.get_by_role("button", name="Really remove").click()
        await expect(secrets.get_by_text("No secrets.")).to_be_visible()
        assert tab.problems == []


async def test_the_title_and_tags(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Work")
        await tab.stands("Finished")
        general = await tab.settings("General")
        await general.get_by_label("Tags").fill("Team=core")
        await expect(general.get_by_role("button", name="Save")).to_be_disabled()
        await general.get_by_label("Tags").fill("team=core, ticket=12")
        await general.get_by_label("Title").fill("The roof")
        await tab.page.keyboard.press("Enter")
        await expect(general.get_by_text("Saved")).to_be_visible()
        await tab.page.keyboard.press("Escape")
        await expect(tab.page.locator(".conversation[aria-current=page]")).to_contain_text("The roof")
        changed = {e["type"]: e for e in await server.log(tab.id)}
        assert changed["TagsChanged"]["tags"] == {"team": "core", "ticket": "12"}
        assert changed["TitleChanged"]["title"] == "The roof"


async def test_with_the_keyboard_alone(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Work")
        await tab.stands("Finished")
        keys, dialog = tab.page.keyboard, tab.page.get_by_role("dialog", name="Settings")
        opener = tab.page.get_by_role("button", name="Settings", exact=True)
        await opener.focus()
        await keys.press("Enter")
        await expect(dialog.get_by_role("tab", name="General")).to_be_focused()
        for section in (*SECTIONS[1:], SECTIONS[0]):
            await keys.press("ArrowDown")
            await expect(dialog.get_by_role("tab", name=section)).to_be_focused()
            await expect(dialog.get_by_role("tabpanel", name=section)).to_be_visible()
        inside = "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        for _ in range(12):
            await keys.press("Tab")
            assert await tab.page.evaluate(inside)
        await keys.press("Escape")
        await expect(dialog).to_have_count(0)
        await expect(opener).to_be_focused()
        await keys.press("s")
        await expect(dialog).to_be_visible()
        assert tab.problems == []


async def test_what_a_key_does_not_allow_is_not_offered(tmp_path: Path) -> None:
    keys = keyring(tmp_path / "store")
    owner = await keys.create("ada", [Scope.STEER, Scope.OBSERVE, Scope.APPROVE])
    steering = await keys.create("ada", [Scope.STEER, Scope.OBSERVE])
    looking = await keys.create("ada", [Scope.OBSERVE])
    async with console(tmp_path, [RISKY, finish("Done.")], store=tmp_path / "store") as server:
        tab = await server.tab()
        await tab.unlock(owner)
        await tab.begin("Publish")
        await tab.stands("Needs approval")
        other = await server.tab(f"/#/{tab.id}")
        await other.unlock(steering)
        await other.stands("Needs approval")
        await expect(other.page.get_by_text("cannot approve actions")).to_be_visible()
        await expect(other.page.get_by_role("button", name="Approve")).to_have_count(0)
        approval = await other.settings("Approval")
        await expect(approval.get_by_text("that needs the scope “approve”")).to_be_visible()
        await expect(approval.get_by_role("radio", name="Never ask")).to_be_disabled()
        model = await other.settings("Model")
        await expect(model.get_by_label(MODEL)).to_be_enabled()
        await model.get_by_text("More", exact=True).click()
        await expect(model.get_by_label("Base URL")).to_be_disabled()
        third = await server.tab(f"/#/{tab.id}")
        await third.unlock(looking)
        await third.stands("Needs approval")
        await expect(third.page.get_by_text("This key cannot send messages")).to_be_visible()
        for name in ("New conversation", "Interrupt", "Approve", "Send"):
            await expect(third.page.get_by_role("button", name=name)).to_have_count(0)
        for section in SECTIONS:
            panel = await third.settings(section)
            await expect(panel.get_by_text("that needs the scope").first).to_be_visible()
            assert await panel.locator("button:enabled, input:enabled, textarea:enabled").count() == 0


async def test_on_a_phone(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab(viewport=PHONE, has_touch=True, is_mobile=True)
        await tab.page.get_by_label("What should the agent do?").fill("Work")
        await tab.page.get_by_role("button", name="Start").tap()
        await tab.stands("Finished")
        for section in SECTIONS:
            panel = await tab.settings(section)
            await expect(panel).to_be_visible()
            assert await panel.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        await tab.page.get_by_role("dialog", name="Settings").get_by_role("button", name="Close").tap()
        await expect(tab.page.get_by_role("dialog")).to_have_count(0)
        assert tab.problems == []
