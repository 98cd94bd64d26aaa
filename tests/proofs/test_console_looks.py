"""What the console looks like. `AGENTRT_PICTURES=docs` has the pictures in docs/ made anew."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import expect

import agentrt.cli.demo
from agentrt.cli.demo import TASK, script
from agentrt.context.replies import ModelReply
from agentrt.specs import Tool
from agentrt.specs.agent import DEFAULT_TOOLS
from agentrt.testing import call, calls, finish

from .consoles import PATIENCE, PHONE, console

pytestmark = pytest.mark.long

NIGHTLY = "Why is the nightly build slow?"
LARGEST = 200 * 1024
"""Bytes of a picture."""


async def test_it_looks_as_in_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = Path(os.environ.get("AGENTRT_PICTURES", tmp_path))
    project = tmp_path / "workspaces" / "invoices"
    shutil.copytree(Path(agentrt.cli.demo.__file__).with_name("demo_project"), project)
    commands = "git init -q && git add . && git -c user.name=a -c user.email=a@b.c commit -qm x"
    await anyio.run_process(commands, cwd=project)
    push = call(
        "terminal",
        "The tests pass. I publish it, if you agree.",
        command="git commit -qam 'Round halves up' && git push --force origin main",
    )
    turns = [*script(project)[:-1], push]

    parts = calls(
        ("delegate", {"task": "Time each stage of the nightly build"}),
        ("delegate", {"task": "Find what its caches miss"}),
    )

    def reply(request: dict[str, Any]) -> ModelReply:
        said = request["messages"]
        task = next(str(message["content"]) for message in said if message["role"] == "user")
        taken = [message["role"] for message in said].count("assistant")
        if TASK in task:
            return turns[taken]
        return parts if NIGHTLY in task and taken == 0 else finish("It is written down.")

    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # which would be among the files that changed
    async with console(tmp_path, reply, tools=(*DEFAULT_TOOLS, Tool("delegate"))) as server:
        for task in ("Explain the event log to a new colleague", NIGHTLY):
            tab = await server.tab()
            await tab.begin(task)
            await tab.stands("Finished")
        tab = await server.tab(viewport={"width": 1440, "height": 900})
        await tab.page.keyboard.press("n")
        await tab.page.get_by_label("Task").fill(TASK)
        await tab.page.get_by_label("Project").fill("invoices")
        await tab.page.keyboard.press("Enter")
        await tab.stands("Needs approval")
        await tab.page.get_by_role("button", name=f"2 delegated conversations of {NIGHTLY}").click()
        for name, scheme in (("console-desktop", "light"), ("console-desktop-dark", "dark")):
            await tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            await tab.page.keyboard.press("Escape")
            await tab.page.evaluate("document.activeElement.blur()")
            await tab.page.mouse.move(150, 600)
            if scheme == "dark":
                await tab.page.keyboard.press("f")
                await tab.page.get_by_role("tab", name="Changes").click()
                await tab.page.get_by_role("complementary").get_by_text("invoices.py").first.click()
                await expect(tab.page.get_by_role("complementary").locator(".diff-add")).to_be_visible(timeout=PATIENCE)
            await tab.page.screenshot(path=pictures / f"{name}.png")
        await tab.page.emulate_media(color_scheme="light")
        await expect((await tab.settings("Approval")).get_by_role("button", name="Save")).to_be_visible()
        await tab.page.screenshot(path=pictures / "console-settings.png")
        for name, scheme in (("console-phone", "light"), ("console-phone-dark", "dark")):
            small = await server.tab(
                f"/#/{tab.id}",
                viewport=PHONE,
                color_scheme=scheme,
                device_scale_factor=2,
                is_mobile=True,
                has_touch=True,
            )
            await small.stands("Needs approval")
            await expect(small.page.get_by_role("button", name="Approve").last).to_be_visible()
            await small.page.screenshot(path=pictures / f"{name}.png")
        for picture in pictures.glob("console-*.png"):
            assert picture.stat().st_size < LARGEST


SIZES: dict[str, dict[str, Any]] = {
    "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True},
    "tablet": {"viewport": {"width": 820, "height": 620}},
    "desktop": {"viewport": {"width": 1440, "height": 900}},
}

CLIPPED = """items => {
  const {left, top, right, bottom} = items.getBoundingClientRect();
  if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) return ["outside of the window"];
  return [...items.querySelectorAll("button")]
    .filter(button => {
      const {left, top, width, height} = button.getBoundingClientRect();
      const seen = document.elementFromPoint(left + width / 2, top + height / 2);
      return height > 0 && !items.contains(seen);
    }).map(button => button.textContent.trim());
}"""
"""What of an open menu cannot be seen."""


@pytest.mark.parametrize("size", SIZES)
async def test_no_menu_is_clipped(tmp_path: Path, size: str) -> None:
    risky = call("terminal", "I clean up.\n\n" * 40, command="rm -rf ~/old")
    async with console(tmp_path, [risky, finish("Done.")]) as server:
        first = await server.tab()
        await first.begin("Clean up")
        await first.stands("Needs approval")
        tab = await server.tab(f"/#/{first.id}", **SIZES[size])
        await tab.stands("Needs approval")
        await expect(tab.page.get_by_text("Always…").last).to_be_visible(timeout=PATIENCE)
        menus = tab.page.locator("details.menu:visible")
        assert await menus.count() >= 2
        for at in range(await menus.count()):
            await menus.nth(at).locator("summary").click()
            items = menus.nth(at).locator(".menu-items")
            await expect(items).to_be_visible()
            assert await items.evaluate(CLIPPED) == []
            await tab.page.keyboard.press("Escape")
            await expect(items).to_be_hidden()
        assert tab.problems == []
