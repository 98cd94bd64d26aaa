"""The console in a real browser: files of a workspace, what goes along with a message, models, notifications."""

from __future__ import annotations

import subprocess
import zipfile
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from playwright.async_api import Download, FilePayload, Locator, Page, expect

from agentrt import LLM
from agentrt.llm.profiles import ProfileStore
from agentrt.testing import call, finish, say
from agentrt.testing.turns import Stall, Turn

from .consoles import PATIENCE, PHONE, Console, Tab, console
from .pictures import png
from .waiting import eventually

pytestmark = pytest.mark.long

GREEN = png(64, 48, b"".join(b"\0" + bytes((47, 93, 80)) * 64 for _ in range(48)))
SHOWN = f"data:image/png;base64,{b64encode(GREEN).decode()}"
RISKY = call("terminal", "I clean up.", command="rm -rf build && git push --force origin main")
NOTES: FilePayload = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Notes\n\nFrom elsewhere.\n"}
OTHER: FilePayload = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Other\n"}
PICTURE: FilePayload = {"name": "green.png", "mimeType": "image/png", "buffer": GREEN}


@asynccontextmanager
async def working(directory: Path, turns: list[Turn], **given: Any) -> AsyncIterator[tuple[Console, Tab, Path]]:
    """A conversation in a workspace that is not a repository, once its first run has ended."""
    project = directory / "workspaces" / "project"
    (project / "src").mkdir(parents=True)
    (project / "node_modules").mkdir()
    (project / "src" / "a.py").write_text("import os\n\n\ndef one() -> int:\n    return 1\n")
    (project / ".gitignore").write_text("node_modules/\n*.log\n")
    (project / "green.png").write_bytes(GREEN)
    (project / "paper.pdf").write_bytes(b"%PDF-1.4 and more")
    (project / "empty.log").touch()
    async with console(directory, turns, **given) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await tab.page.get_by_label("Task").fill("Work")
        await tab.page.get_by_label("Project").fill("project")
        await tab.page.keyboard.press("Tab")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Start").click()
        await tab.stands("Finished")
        yield server, tab, project


def _panel(tab: Tab) -> Locator:
    return tab.page.get_by_role("complementary", name="Files")


def _row(panel: Locator, name: str) -> Locator:
    return panel.locator("summary", has_text=name)


async def _downloaded(page: Page, button: Locator) -> Download:
    async with page.expect_download() as started:
        await button.click()
    return await started.value


CHANGING = call("terminal", "I write.", command="echo 'print(1)' >> src/a.py; echo new > new.txt")


async def test_files_without_git_are_looked_at_and_taken(tmp_path: Path) -> None:
    async with working(tmp_path, [CHANGING, finish("Done.")]) as (_, tab, project):
        await tab.press("Files")
        panel = _panel(tab)
        await expect(panel.locator(".ignored > details > summary .file-path")).to_have_text(
            ["node_modules/", "empty.log"]
        )
        await _row(panel, "src/").click()
        await _row(panel, "a.py").click()
        await expect(panel.locator(".code .hljs-keyword").first).to_have_text("import", timeout=PATIENCE)
        await _row(panel, "green.png").click()
        assert await panel.locator(".preview-image").evaluate("one => one.decode().then(() => one.naturalWidth)") == 64
        await _row(panel, "paper.pdf").click()
        await expect(panel.get_by_text("No preview available.")).to_be_visible()
        assert await tab.violations() == []
        taken = await _downloaded(tab.page, panel.get_by_role("button", name="Download paper.pdf"))
        assert taken.suggested_filename == "paper.pdf"
        assert Path(await taken.path()).read_bytes() == b"%PDF-1.4 and more"
        whole = await _downloaded(tab.page, panel.get_by_role("button", name="Download all"))
        with zipfile.ZipFile(await whole.path()) as archive:
            assert archive.read("src/a.py") == (project / "src" / "a.py").read_bytes()
        await panel.get_by_role("tab", name="Changes").click()
        await expect(panel.get_by_text("Since the last commit")).to_have_count(0)
        await expect(panel.locator(".file .file-path")).to_have_text(["new.txt", "src/a.py"])
        await _row(panel, "src/a.py").click()
        await expect(panel.locator(".diff-add")).to_contain_text("print(1)")
        assert await tab.violations() == []
        assert tab.problems == []


async def test_files_stand_as_they_were_where_the_slider_is(tmp_path: Path) -> None:
    """Each step of the slider shows the tree that was kept then, and what the files are now stays."""
    turns: list[Turn] = [
        call("terminal", "First.", command="echo first > step.txt"),
        call("terminal", "Second.", command="echo second > step.txt; rm green.png"),
        finish("Done."),
    ]
    async with working(tmp_path, turns) as (server, tab, project):
        await tab.press("Files")
        panel = _panel(tab)
        await _row(panel, "step.txt").click()
        await expect(panel.locator(".code")).to_contain_text("second")
        await tab.page.get_by_role("button", name="History").click()
        log = await server.log(tab.id)
        steps = [event["seq"] for event in log if event["type"] == "ObservationEvent"]
        slider = tab.page.get_by_role("region", name="History").get_by_role("slider")
        for at, step, green in ((2, 0, 1), (steps[0] + 1, 1, 1), (steps[1] + 1, 1, 0)):
            await slider.fill(str(at))
            await expect(tab.page.get_by_text(f"As it was after event {at}")).to_be_visible()
            await expect(_row(panel, "step.txt")).to_have_count(step)
            await expect(_row(panel, "green.png")).to_have_count(green)
        assert (project / "step.txt").read_text() == "second\n"
        assert tab.problems == []


async def test_files_are_sent_by_button_and_by_drop(tmp_path: Path) -> None:
    async with working(tmp_path, [say("Ready."), say("Read.")]) as (_, tab, project):
        await tab.press("Files")
        panel = _panel(tab)
        await panel.get_by_label("Files for the workspace").set_input_files([NOTES])
        await _row(panel, "notes.md").click()
        await expect(panel.get_by_text("From elsewhere.")).to_be_visible()
        assert (project / "notes.md").read_bytes() == NOTES["buffer"]
        await panel.get_by_label("Files for the workspace").set_input_files([OTHER])
        sure = tab.page.get_by_role("dialog", name="Replace the file")
        await expect(sure.get_by_text("notes.md already exists.")).to_be_visible()
        assert await tab.violations() == []
        await sure.get_by_role("button", name="Replace").click()
        await expect(panel.get_by_text("# Other")).to_be_visible()
        await _row(panel, "src/").click()
        await panel.get_by_label("Files for src").set_input_files([PICTURE])
        await eventually((project / "src" / "green.png").exists, "the picture is in the directory")
        await _drop(tab.page, ".drop", "dropped.csv")
        await expect(_row(panel, "dropped.csv")).to_be_visible()
        assert (project / "dropped.csv").read_text() == "a,b"
        assert tab.problems == []


async def _drop(page: Page, place: str, name: str) -> None:
    """Drop a file on what a selector finds."""
    await page.evaluate(
        """([place, name]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["a,b"], name));
            const given = { dataTransfer, bubbles: true, cancelable: true };
            for (const type of ["dragover", "drop"])
                document.querySelector(place).dispatchEvent(new DragEvent(type, given));
        }""",
        [place, name],
    )


async def test_an_image_and_a_file_go_along_with_a_message(tmp_path: Path) -> None:
    async with working(tmp_path, [say("Ready."), say("Green, and notes."), say("Seen.")]) as (server, tab, project):
        await tab.page.get_by_label("Files for the message").set_input_files([PICTURE, NOTES])
        await expect(tab.page.locator(".attached-image img")).to_have_attribute("src", SHOWN)
        await expect(tab.page.get_by_text("The file will be saved in “uploads” in the workspace")).to_be_visible()
        await _drop(tab.page, "main.main", "dropped.csv")
        await tab.page.get_by_role("button", name="Remove dropped.csv").click()
        await expect(tab.page.locator(".attached li")).to_have_count(2)
        assert await tab.violations() == []
        await tab.page.get_by_label("Message to the agent").fill("What is this?")
        await tab.page.keyboard.press("Enter")
        await tab.sees("Green, and notes.")
        await expect(tab.page.locator(".attached")).to_have_count(0)
        text, image, file = server.provider.requests[-1]["messages"][-1]["content"]
        assert (text["text"], file["text"]) == ("What is this?", "[file uploads/notes.md]")
        assert image["image_url"]["url"] == SHOWN
        assert (project / "uploads" / "notes.md").read_bytes() == NOTES["buffer"]
        await expect(tab.page.locator(".said-by-user .picture img")).to_be_visible()
        taken = await _downloaded(tab.page, tab.page.get_by_role("button", name="Download uploads/notes.md"))
        assert Path(await taken.path()).read_bytes() == NOTES["buffer"]
        await tab.page.get_by_label("Files for the message").set_input_files([NOTES])
        await tab.page.keyboard.press("c")
        await tab.page.keyboard.press("Enter")  # a file alone is a message
        await tab.sees("Seen.")
        assert "[file uploads/notes (2).md]" in str(server.provider.requests[-1]["messages"][-1]["content"])
        assert tab.problems == []


async def test_a_model_that_sees_no_images_is_named(tmp_path: Path) -> None:
    async with console(tmp_path, [say("I cannot see it.")]) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await tab.page.get_by_role("button", name="Create").click()
        await tab.page.wait_for_url("**/#/*")
        blind = {"type": "LLM", "model": "openai/scripted", "vision": False, "base_url": server.provider.base_url}
        await tab.page.evaluate(
            """async ([id, key, llm]) => {
                const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
                const body = JSON.stringify({ llm });
                await fetch(`/conversations/${id}/switch_llm`, { method: "POST", headers, body });
            }""",
            [tab.id, server.key, blind],
        )
        await tab.page.get_by_label("Files for the message").set_input_files([PICTURE])
        await expect(tab.page.get_by_text("openai/scripted cannot see images.")).to_be_visible()
        assert await tab.violations() == []
        await tab.page.keyboard.press("c")
        await tab.page.keyboard.press("Enter")
        await tab.sees("I cannot see it.")
        assert "which openai/scripted cannot see" in str(server.provider.requests[-1]["messages"][-1]["content"])


async def test_a_model_is_chosen_from_the_list(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    async with console(tmp_path, [say("One."), say("Two.")]) as server:
        local = LLM(model="openai/local", base_url=server.provider.base_url, reasoning_effort="low")
        ProfileStore(tmp_path / "store" / "profiles.json").save("house", local)
        tab = await server.tab()
        await tab.begin("Count")
        await tab.sees("One.")
        model = await tab.settings("Model")
        await expect(model.get_by_role("status").first).to_have_text("$1 in, $4 out per million tokens")
        field = model.get_by_role("combobox", name="Model")
        await field.click()
        own = model.get_by_role("group", name="This server").get_by_role("option")
        await expect(own).to_contain_text(server.provider.base_url)
        await expect(model.get_by_role("option", name="house")).to_contain_text("price unknown")
        assert await tab.violations() == []
        await field.fill("anthropic claude opus")
        priced = model.get_by_role("group", name="Known models").get_by_role("option").first
        await expect(priced).to_contain_text("per million tokens")
        await field.fill("hous")
        await expect(model.get_by_role("option", name="house")).to_be_visible()
        await tab.page.keyboard.press("Escape")  # closes the list, and not the dialog
        await expect(model.get_by_role("option", name="house")).to_be_hidden()
        await tab.page.keyboard.press("ArrowDown")
        while "house" not in await model.locator(".picker-option.active").inner_text():
            await tab.page.keyboard.press("ArrowDown")
        await tab.page.keyboard.press("Enter")
        await expect(field).to_have_value("openai/local")
        await expect(model.get_by_label("Base URL")).to_have_value(server.provider.base_url)
        await expect(model.get_by_role("status").first).to_have_text("price unknown")
        await model.get_by_role("button", name="Use this model").click()
        await expect(model.get_by_text("Model changed")).to_be_visible()
        await tab.page.keyboard.press("Escape")
        await tab.page.get_by_label("Message to the agent").fill("Go on")
        await tab.page.keyboard.press("Enter")
        await tab.sees("Two.")
        last = server.provider.requests[-1]
        assert (last["model"], last["reasoning_effort"]) == ("local", "low")
        await expect(tab.page.locator("[data-fact=cost]")).to_contain_text("1 unpriced")
        assert tab.problems == []


NOTED = """
window.noted = [];
window.Notification = class extends Notification {
    constructor(title, options) { super(title, options); window.noted.push({ title, ...options, notification: this }); }
    static requestPermission() { window.asked = (window.asked ?? 0) + 1; return super.requestPermission(); }
};
let away = false;
Object.defineProperty(document, "hidden", { get: () => away });
window.lookAway = (now) => { away = now; document.dispatchEvent(new Event("visibilitychange")); };
"""
"""Notes what the page has the browser show, which does as ever; and says that nobody sees the page, which headless
Chromium never does.
"""


async def test_a_person_who_looks_elsewhere_is_notified(tmp_path: Path) -> None:
    async with console(tmp_path, [RISKY, RISKY, finish("Done.")]) as server:
        context = await server.browser.new_context(permissions=["notifications"])
        await context.add_init_script(NOTED)
        tab = await server.tab("/", context)
        bell = tab.page.get_by_role("button", name="Notify me when an agent needs me")
        await expect(bell).to_have_attribute("aria-pressed", "false")
        assert await tab.page.evaluate("window.asked") is None  # nobody is asked before he clicks
        await tab.begin("Publish")
        await tab.stands("Needs approval")
        await expect(tab.page).to_have_title("(1) Publish · agentrt")
        assert await tab.page.evaluate("noted.length") == 0
        await bell.click()
        await expect(bell).to_have_attribute("aria-pressed", "true")
        assert await tab.page.evaluate("window.asked") == 1
        await tab.page.evaluate("lookAway(true)")
        await tab.page.get_by_role("button", name="Approve").last.click()
        await expect(tab.page).to_have_title("(1) Publish · agentrt")
        with anyio.fail_after(20):
            while await tab.page.evaluate("noted.length") != 1:
                await anyio.lowlevel.checkpoint()
        told = await tab.page.evaluate("(({ title, body, tag }) => ({ title, body, tag }))(noted[0])")
        assert told["title"] == "Publish needs your input"
        assert "git push --force origin main" in told["body"]
        assert told["tag"] == tab.id
        await tab.page.evaluate("location.hash = '#/'; noted[0].notification.onclick()")
        await tab.page.wait_for_url(f"**/#/{told['tag']}")
        await tab.page.evaluate("lookAway(false)")
        await expect(tab.page.locator(".entry-action")).to_have_count(2)  # as it stands now, and not as it comes in
        await tab.page.get_by_role("button", name="Approve").last.click()
        await tab.stands("Finished")
        await expect(tab.page).to_have_title("Publish · agentrt")
        await tab.page.reload()
        await expect(bell).to_have_attribute("aria-pressed", "true")
        assert tab.problems == []


async def test_menus_toasts_and_what_an_interrupt_leaves(tmp_path: Path) -> None:
    long = call("terminal", "I wait.", command="for i in $(seq 1 300); do echo line $i; sleep 0.2; done")
    async with console(tmp_path, [long, RISKY, Stall("Hm.", 60)]) as server:
        tab = await server.tab()
        keys = tab.page.keyboard
        await tab.begin("Wait")
        output = tab.page.get_by_role("group", name="Output so far")
        await expect(output).to_contain_text("line 2", timeout=PATIENCE)
        await tab.page.get_by_role("button", name="Interrupt").click()
        await tab.stands("Paused")
        await tab.sees("Interrupted after")
        await expect(tab.page.locator(".entry-growing")).to_have_count(0)
        await tab.page.get_by_role("button", name="Run", exact=True).click()
        await tab.stands("Needs approval")
        await tab.page.locator(".entry .risk-high").hover()
        bar, badge = tab.page.locator(".entry:hover > .entry-tools"), tab.page.locator(".entry .risk-high")
        await expect(bar).to_be_visible()
        above, risk = await bar.bounding_box(), await badge.bounding_box()
        assert above is not None
        assert risk is not None
        assert above["y"] + above["height"] <= risk["y"]
        for menu in (tab.page.locator(".header summary"), tab.page.locator("summary", has_text="Always…")):
            await menu.focus()
            await keys.press("Enter")
            await keys.press("ArrowDown")
            assert await tab.page.evaluate("document.activeElement.closest('.menu-items') !== null")
            await keys.press("Escape")
            await expect(tab.page.locator("details.menu[open]")).to_have_count(0)
            await expect(menu).to_be_focused()
        await tab.press("Files")
        await _panel(tab).get_by_role("tab", name="All files").focus()
        await keys.press("Escape")
        await expect(_panel(tab)).to_have_count(0)
        await tab.page.context.set_offline(True)
        await tab.page.get_by_role("button", name="Reject…").last.click()
        await tab.page.get_by_role("dialog").get_by_role("button", name="Reject").click()
        toast = tab.page.locator(".toast")
        await expect(toast).to_contain_text("The server does not answer")
        await toast.hover()  # it stays while somebody reads it, until it is over
        await tab.page.context.set_offline(False)
        await expect(toast).to_have_count(0, timeout=PATIENCE)


async def test_on_a_phone(tmp_path: Path) -> None:
    async with working(tmp_path, [say("Ready.")]) as (server, tab, _):
        small = await server.tab(f"/#/{tab.id}", viewport=PHONE, has_touch=True, is_mobile=True)
        await small.stands("Finished")
        await small.page.get_by_label("Files for the message").set_input_files([PICTURE, NOTES])
        await expect(small.page.locator(".attached li")).to_have_count(2)
        assert await small.violations() == []
        await small.press("Files")
        await _row(_panel(small), "src/").tap()
        await _row(_panel(small), "a.py").tap()
        await expect(_panel(small).get_by_text("def one")).to_be_visible()
        assert await small.violations() == []
        assert await small.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert small.problems == []


async def test_a_conversation_begins_with_a_project(tmp_path: Path) -> None:
    for name in ("invoices", "inventory", "website"):
        (tmp_path / "workspaces" / name).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / "workspaces" / "invoices")], check=True)
    async with console(tmp_path, lambda body: finish("Done.")) as server:
        tab = await server.tab()
        await tab.page.get_by_role("button", name="New conversation").first.click()
        dialog, project = tab.page.get_by_role("dialog"), tab.page.get_by_label("Project")
        await project.click()
        await expect(dialog.get_by_role("option")).to_have_count(3)
        await project.fill("inv")
        await expect(dialog.get_by_role("option")).to_have_count(2)
        await expect(dialog.get_by_role("option", name="invoices")).to_contain_text("git, main")
        await tab.page.keyboard.press("ArrowDown")
        await tab.page.keyboard.press("ArrowDown")
        await tab.page.keyboard.press("Enter")
        await expect(project).to_have_value(str(tmp_path / "workspaces" / "invoices"))
        await dialog.get_by_label("Task").fill("Look around")
        await dialog.get_by_label("Task").press("Enter")
        await tab.stands("Finished")
        assert (await server.log(tab.id))[0]["workspace"]["path"] == str(tmp_path / "workspaces" / "invoices")
        await tab.page.get_by_role("button", name="New conversation").first.click()
        await expect(project).to_have_value(str(tmp_path / "workspaces" / "invoices"))
        await project.fill("")
        await project.click()
        await expect(dialog.get_by_role("group", name="Recent").get_by_role("option")).to_have_count(1)
        await project.fill("/etc")
        await dialog.get_by_label("Task").fill("Look there")
        await dialog.get_by_label("Task").press("Enter")
        await expect(dialog.get_by_role("alert")).to_contain_text(str(tmp_path / "workspaces"))
        assert len(tab.problems) == 1, "what the browser says of an answer that is an error"
        assert "422" in tab.problems[0]
