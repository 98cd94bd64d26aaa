"""The console in a real browser, against a real server: what a person does with it."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import anyio
import pytest
from playwright.async_api import expect

from agentrt import NeverConfirm, Tool
from agentrt.server.principals import Scope
from agentrt.testing import call, finish, say
from agentrt.testing.turns import Stall
from tests.stores import make_key
from tests.tools.browser.site import site

from .consoles import PATIENCE, PHONE, Console, Tab, console, process, stage
from .pictures import png
from .waiting import eventually

pytestmark = pytest.mark.long

LONG = " ".join(f"word{number}" for number in range(120))
RISKY = call("terminal", "I clean up.", command="rm -rf build && git push --force origin main")


async def _each_event_once(server: Console, tab: Tab) -> None:
    log = await server.log(tab.id)
    told = [event["id"] for event in log if event["type"] in ("MessageEvent", "ActionEvent")]
    await expect(tab.page.locator(".entries > .entry-message, .entries > .entry-action")).to_have_count(len(told))
    assert await tab.shown() == told


async def test_the_console_works_below_another_application(tmp_path: Path) -> None:
    async with console(tmp_path, [say("Hello from below.")], below="/agents") as server:
        tab = await server.tab()
        await tab.begin("Greet me")
        await tab.sees("Hello from below.")
        await tab.page.reload()
        await tab.sees("Hello from below.")
        assert "/agents/#/" in tab.page.url
        assert tab.problems == []


async def test_a_conversation_from_its_first_word_to_its_last(tmp_path: Path) -> None:
    script = [call("terminal", LONG, command="echo it runs"), finish("All is **well**.")]
    async with console(tmp_path, script, pace=0.01) as server:
        tab = await server.tab()
        await tab.begin("Look around")
        growing = tab.page.locator(".entry-growing")
        await expect(growing).to_contain_text("word3", timeout=PATIENCE)
        assert "word119" not in await growing.inner_text()
        await tab.sees("it runs")
        await tab.stands("Finished")
        await expect(tab.page.locator(".finish strong")).to_have_text("well")
        await expect(growing).to_have_count(0)
        await expect(tab.page.locator("[data-fact=cost]")).to_have_text(re.compile(r"\$0\.\d*[1-9]"))
        await _each_event_once(server, tab)
        await expect(tab.page.locator(".conversation[aria-current=page]")).to_contain_text("Look around")
        assert tab.problems == []


async def test_a_model_that_there_is_not_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    async with console(tmp_path, [finish("Done.")]) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        dialog = tab.page.get_by_role("dialog", name="New conversation")
        await dialog.get_by_label("Task").fill("Work")
        await dialog.get_by_role("combobox", name="Model").fill("nonsense/model")
        await dialog.get_by_role("button", name="Start").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("Unknown model 'nonsense/model'", timeout=PATIENCE)
        await dialog.get_by_role("combobox", name="Model").fill("")
        await dialog.get_by_role("radio", name="Never ask").check()
        await dialog.get_by_role("button", name="Start").click()
        await tab.stands("Finished")
        await tab.sees("Approval: never ask")
        await expect(tab.page.locator(".conversation")).to_have_count(1)


async def test_an_action_is_approved(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Publish")
        await tab.stands("Needs approval")
        await expect(tab.page.locator(".entry .risk-high")).to_have_text("High risk")
        waiting = tab.page.get_by_role("group", name="Waiting for your approval")
        await waiting.get_by_role("button", name="Approve").click()
        await tab.stands("Finished")
        log = await server.log(tab.id)
        assert [event["type"] for event in log].count("ConfirmationGiven") == 1
        await _each_event_once(server, tab)
        assert tab.problems == []


async def test_an_action_is_rejected_with_a_reason(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, say("I leave it.")]) as server:
        tab = await server.tab()
        await tab.begin("Publish")
        await tab.page.get_by_role("button", name="Reject…").last.click()
        await tab.page.get_by_label("Reason for the agent").fill("not on a Friday")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Reject").click()
        await tab.sees("not on a Friday")
        await tab.sees("I leave it.")
        refused = [event for event in await server.log(tab.id) if event["type"] == "UserRejectObservation"]
        assert [event["rejection_reason"] for event in refused] == ["not on a Friday"]


async def test_what_is_allowed_always_is_not_asked_again(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, RISKY, finish("Done.")]) as server:
        tab = await server.tab()
        await tab.begin("Publish")
        await tab.page.get_by_text("Always…").click()
        await tab.page.get_by_role("button", name="Allow the same in this conversation").click()
        await tab.stands("Finished")
        types = [event["type"] for event in await server.log(tab.id)]
        assert (types.count("ConfirmationRequested"), types.count("RuleAdded")) == (1, 1)


async def test_an_interrupt_cuts_what_streams_in(tmp_path: Path) -> None:
    async with console(tmp_path, [Stall("Let me think about.", 60), finish("Now I know.")]) as server:
        tab = await server.tab()
        await tab.begin("Think")
        await expect(tab.page.locator(".entry-growing")).to_contain_text("Let me think", timeout=PATIENCE)
        await tab.page.get_by_role("button", name="Interrupt").click()
        await tab.sees("Interrupted")
        await tab.stands("Paused")
        await expect(tab.page.locator(".entry-growing")).to_have_count(0)
        await eventually(lambda: not server.provider.active, "the model is cut", 10)
        await tab.page.get_by_label("Message to the agent").fill("go on")
        await tab.page.keyboard.press("Enter")
        await tab.stands("Finished")
        await _each_event_once(server, tab)
        assert tab.problems == []


async def test_a_reload_in_the_middle_shows_each_event_once(tmp_path: Path) -> None:
    script = [call("think", LONG, thought=f"{number} {LONG}") for number in range(6)] + [finish("Done.")]
    async with console(tmp_path, script, pace=0.004) as server:
        tab = await server.tab()
        await tab.begin("Think for long")
        for _ in range(4):
            await expect(tab.page.locator(".entry-growing")).to_contain_text("word", timeout=PATIENCE)
            await tab.page.reload()
            shown = await tab.shown()
            assert len(shown) == len(set(shown))
        await expect(tab.page.locator(".entry-growing")).to_contain_text("word", timeout=PATIENCE)
        await tab.stands("Finished")
        await _each_event_once(server, tab)
        assert tab.problems == []


async def test_a_server_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    script = [call("think", LONG, thought=f"{number} {LONG}") for number in range(5)] + [finish("Done.")]
    port = _free_port()
    async with stage(tmp_path, script, pace=0.004) as (provider, browser):
        key = await make_key(tmp_path / "store", "ada", [Scope.ADMIN])
        server = Console(f"http://127.0.0.1:{port}", provider, browser, key)
        async with process(tmp_path, provider, port) as running:
            tab = await server.tab()
            await tab.begin("Think for long")
            await expect(tab.page.locator(".entry-growing")).to_contain_text("word20", timeout=PATIENCE)
            running.kill()
            await expect(tab.page.locator(".connection")).to_have_text("Reconnecting…", timeout=PATIENCE)
        async with process(tmp_path, provider, port):
            await expect(tab.page.locator(".connection")).to_have_text("Live", timeout=PATIENCE)
            await tab.sees("the process died")
            await tab.page.get_by_role("button", name="Run", exact=True).click()
            await tab.stands("Finished")
            await _each_event_once(server, tab)


async def test_an_image_is_shown(tmp_path: Path) -> None:
    pixels = b"".join(b"\0" + bytes((47, 93, 80)) * 64 for _ in range(48))
    image = tmp_path / "green.png"
    image.write_bytes(png(64, 48, pixels))
    async with console(tmp_path, [call("file_editor", command="view", path=str(image)), finish("Green.")]) as server:
        tab = await server.tab()
        await tab.begin("What colour is it?")
        await tab.stands("Finished")
        await expect(tab.page.locator(".picture img")).to_be_visible()
        assert await tab.page.locator(".picture img").evaluate("one => one.naturalWidth") == 64
        assert tab.problems == []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_two_tabs_see_the_same(tmp_path: Path) -> None:
    async with console(tmp_path, [say("Hello."), RISKY, finish("Done.")], pace=0.002) as server:
        one = await server.tab()
        await one.begin("Greet me")
        await one.sees("Hello.")
        other = await server.tab(f"/#/{one.id}", one.page.context)
        await other.sees("Hello.")
        await other.page.get_by_label("Message to the agent").fill("And now publish")
        await other.page.get_by_role("button", name="Send and run").click()
        await one.sees("And now publish")
        await one.stands("Needs approval")
        await one.page.get_by_role("button", name="Approve").last.click()
        for tab in (one, other):
            await tab.stands("Finished")
            await _each_event_once(server, tab)
            assert tab.problems == []
        assert await one.shown() == await other.shown()


async def test_with_the_keyboard_alone(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, finish("Done."), Stall("hm.", 60)]) as server:
        tab = await server.tab()
        keys = tab.page.keyboard
        await keys.press("?")
        shortcuts = tab.page.get_by_role("dialog", name="Keyboard shortcuts")
        await expect(shortcuts).to_be_visible()
        await keys.press("Escape")
        await expect(shortcuts).to_be_hidden()
        await keys.press("n")
        await expect(tab.page.get_by_label("Task")).to_be_focused()
        await keys.type("Publish")
        await keys.press("Control+Enter")
        await tab.stands("Needs approval")
        await keys.press("a")
        await tab.stands("Finished")
        await keys.press("k")
        focused = "document.activeElement.getAttribute('aria-label')"
        assert await tab.page.evaluate(focused) == "Action: finish, done"
        await keys.press("c")
        await expect(tab.page.get_by_label("Message to the agent")).to_be_focused()
        await keys.type("one")
        await keys.press("Shift+Enter")
        await keys.type("two")
        await keys.press("Enter")
        await tab.sees("two")
        await expect(tab.page.locator(".entry-growing")).to_contain_text("hm", timeout=PATIENCE)
        await keys.press("Escape")
        await expect(tab.page.get_by_label("Message to the agent")).not_to_be_focused()
        await keys.press("x")
        await tab.stands("Paused")
        said = [event for event in await server.log(tab.id) if event["type"] == "MessageEvent"]
        assert [event["content"][0]["text"] for event in said if event["source"] == "user"] == ["Publish", "one\ntwo"]
        await keys.press("h")
        await tab.page.get_by_label("Show the conversation as it was").focus()
        await keys.press("Home")
        await expect(tab.page.get_by_text("As it was after event 1,")).to_be_visible()
        await keys.press("Tab")
        assert tab.problems == []


async def test_on_a_phone(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, finish("Done.")]) as server:
        tab = await server.tab(viewport=PHONE, has_touch=True, is_mobile=True)
        await tab.page.get_by_role("button", name="Conversations").tap()
        await expect(tab.page.get_by_role("navigation")).to_be_visible()
        await tab.begin("Publish")
        await expect(tab.page.get_by_role("navigation")).to_be_hidden()
        await tab.page.get_by_role("button", name="Approve").last.tap()
        await tab.stands("Finished")
        for panel in ("Files", "Context", "MCP servers", "Details"):
            await tab.press(panel)
            wide = await tab.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= PHONE["width"]
            await tab.page.get_by_role("button", name="Close the panel").tap()
        small = await tab.page.eval_on_selector_all(
            ".header button, .composer button",
            "all => all.filter(b => b.offsetParent && b.getBoundingClientRect().height < 24).length",
        )
        assert small == 0


async def test_what_the_agent_is_told_and_what_waits_for_a_word(tmp_path: Path) -> None:
    project = tmp_path / "workspaces" / "project"
    (project / ".agents/skills/pdf").mkdir(parents=True)
    (project / "AGENTS.md").write_text("Use tabs.\n")
    (project / ".agents/skills/pdf/SKILL.md").write_text("---\nname: pdf\ndescription: Reads PDF.\n---\nRead it.\n")
    hooks = '{"PreToolUse": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}'
    (project / ".agents/hooks.json").write_text(hooks)
    script = [call("terminal", command="true"), finish("Done."), call("terminal", command="true"), finish("Done.")]
    async with console(tmp_path, script) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await tab.page.get_by_label("Task").fill("Go")
        await tab.page.get_by_label("Project").fill("project")
        await tab.page.keyboard.press("Tab")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Start").click()
        await tab.stands("Finished")
        await tab.press("Context")
        panel = tab.page.get_by_role("complementary", name="Context")
        for text in ("AGENTS.md", "pdf", "Instructions", "Skills", "touch ran"):
            await expect(panel.get_by_text(text, exact=False).first).to_be_visible()
        assert not (project / "ran").exists()
        await panel.get_by_role("button", name="Allow these programs").click()
        await tab.sees("Programs approved to run: digest")
        await expect(panel.get_by_role("button", name="Allow these programs")).to_have_count(0)
        await tab.page.get_by_label("Message to the agent").fill("Again")
        await tab.page.keyboard.press("Enter")
        await eventually((project / "ran").exists, "the hook runs")
        assert tab.problems == []


async def test_the_past_and_a_fork_of_it(tmp_path: Path) -> None:
    script = [
        call("terminal", "One.", command="echo first"),
        call("terminal", "Two.", command="echo second"),
        finish("x"),
    ]
    async with console(tmp_path, script) as server:
        tab = await server.tab()
        await tab.begin("Count")
        await tab.stands("Finished")
        log = await server.log(tab.id)
        first = next(event["seq"] for event in log if event["type"] == "ObservationEvent")
        await tab.page.goto(f"{server.url}/#/{tab.id}?at={first}")
        await expect(tab.page.get_by_text(f"As it was after event {first},")).to_be_visible()
        await expect(tab.page.locator(".entry-action")).to_have_count(1)
        await tab.stands("Running")
        await tab.page.get_by_role("button", name="Fork from here").click()
        await tab.page.get_by_role("dialog").get_by_role("button", name="Fork", exact=True).click()
        await tab.sees("Forked from another conversation")
        await expect(tab.page.locator(".entry-action")).to_have_count(1)
        await tab.page.go_back()
        await tab.page.get_by_role("button", name="Back to now").click()
        await expect(tab.page.locator(".entry-action")).to_have_count(3)
        await tab.page.get_by_role("button", name="History").click()
        for _ in ("the end of the run", "the result of finish"):
            await tab.page.get_by_role("button", name="Previous event").click()
        await tab.page.get_by_role("button", name="Rewind to here").click()
        await tab.page.get_by_role("dialog").get_by_role("button", name="Rewind").click()
        await tab.sees("left behind")
        assert tab.problems == []


async def test_what_changed_in_the_files(tmp_path: Path) -> None:
    project = tmp_path / "workspaces" / "project"
    project.mkdir(parents=True)
    (project / "a.txt").write_text("one\ntwo\n")
    commands = "git init -q && git add . && git -c user.name=a -c user.email=a@b.c commit -qm x"
    await anyio.run_process(commands, cwd=project)
    edit = {"command": "str_replace", "path": str(project / "a.txt"), "old_str": "two", "new_str": "three"}
    async with console(tmp_path, [call("file_editor", "I edit.", **edit), finish("Done.")]) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await tab.page.get_by_label("Task").fill("Count to three")
        await tab.page.get_by_label("Project").fill("project")
        await tab.page.keyboard.press("Tab")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Start").click()
        await tab.stands("Finished")
        await expect(tab.page.locator(".entry .diff-remove")).to_contain_text("two")
        await expect(tab.page.locator(".entry .diff-add")).to_contain_text("three")
        await tab.press("Files")
        await tab.page.get_by_role("tab", name="Changes").click()
        await expect(tab.page.get_by_text("Since the last commit")).to_be_visible()
        await tab.page.get_by_role("complementary").get_by_text("a.txt").first.click()
        await expect(tab.page.get_by_role("complementary").locator(".diff-add")).to_contain_text("three")
        await tab.page.keyboard.press("Control+k")
        await tab.page.get_by_label("Search for").fill("three")
        await expect(tab.page.locator(".hits li").first).to_contain_text("three", timeout=PATIENCE)
        assert tab.problems == []


async def test_what_the_browser_shows_and_what_was_recorded(tmp_path: Path) -> None:
    async with site() as address:
        turns = [
            call("browser_navigate", url=address),
            call("browser_start_recording"),
            call("browser_navigate", url=f"{address}/other"),
            call("browser_stop_recording"),
            finish("Seen."),
        ]
        async with console(tmp_path, turns, tools=(Tool("browser"),), confirmation=NeverConfirm()) as server:
            tab = await server.tab()
            await tab.begin("Look at it")
            await tab.stands("Finished")
            window = tab.page.locator("figure.window")
            await expect(window.first).to_contain_text(f"{address}/")
            played = window.get_by_role("img", name="recording")
            await expect(played).to_be_visible(timeout=PATIENCE)
            assert await played.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 960
            assert tab.problems == []
