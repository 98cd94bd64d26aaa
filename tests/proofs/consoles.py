"""A server with its console, the scripted provider behind it, and Debian's Chromium in front."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import anyio.abc
import msgspec
from playwright.async_api import Browser, BrowserContext, Locator, Page, async_playwright, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from agentrt import Agent, Runtime
from agentrt.secrets import Cipher
from agentrt.server import ServerSettings, create_app, lifespan_of, pages
from agentrt.server.running import serving
from agentrt.specs import ConfirmRisky
from agentrt.testing import ScriptedProvider
from agentrt.testing.provider import Script
from agentrt.testing.turns import Turn

from . import chromium

WEB = Path(pages.__file__).parent / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
SECTIONS = ("General", "Model", "Approval", "Rules", "Goal", "Budget", "Secrets")
"""Of the settings of a conversation."""
PATIENCE = 60_000.0
"""Milliseconds that something may take to be seen."""


def build() -> None:
    """Build the console where it was not built, with the tools that check it."""
    if not ((pages.BUILT / "docs" / "index.html").is_file() and AXE.is_file()):
        for step in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
            subprocess.run(["npm", "--prefix", str(WEB), *step], check=True)


class Tab:
    """A page of the console; `problems` are the errors that it had."""

    def __init__(self, page: Page, server: Console) -> None:
        self.page, self.server = page, server
        self.problems: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)

    @property
    def id(self) -> str:
        """Of the conversation that is open."""
        return self.page.url.partition("#/")[2].partition("?")[0]

    async def begin(self, task: str) -> None:
        """Begin a conversation with the mouse."""
        await self.page.get_by_role("button", name="New conversation").first.click()
        await self.page.get_by_label("Task").fill(task)
        await self.page.get_by_role("dialog").get_by_role("button", name="Start").click()
        await self.page.wait_for_url("**/#/*")

    async def unlock(self, key: str) -> None:
        """Give the API key that the page asks for."""
        await self.page.get_by_role("dialog", name="API key").get_by_label("Key").fill(key)
        await self.page.get_by_role("button", name="Use key").click()

    async def settings(self, section: str) -> Locator:
        """Open the settings at one of their tabs; the panel of it."""
        dialog = self.page.get_by_role("dialog", name="Settings")
        if not await dialog.is_visible():
            await self.press("Settings")
        await dialog.get_by_role("tab", name=section).click()
        return dialog.get_by_role("tabpanel", name=section)

    async def press(self, name: str) -> None:
        """Press a button of the header; on a phone it is in the menu."""
        button = self.page.locator(".header").get_by_role("button", name=name, exact=True)
        if not await button.first.is_visible():
            await self.page.locator(".header").get_by_label("More", exact=True).click()
        await button.first.click()

    async def violations(self) -> list[str]:
        """What axe-core finds wrong, that is serious."""
        await self.page.evaluate(f"() => {{ {AXE.read_text()} }}")
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
        found: dict[str, Any] = await self.page.evaluate("rules => axe.run(document, rules)", rules)
        return [
            f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical", "moderate")
            for node in one["nodes"]
        ]

    async def sees(self, text: str) -> None:
        """Wait until a text is in the transcript."""
        await expect(self.page.get_by_label("Transcript").get_by_text(text).first).to_be_visible(timeout=PATIENCE)

    async def stands(self, status: str) -> None:
        """Wait until the conversation has a status."""
        await expect(self.page.locator(".header .status")).to_have_text(status, timeout=PATIENCE)

    async def shown(self) -> list[str]:
        """The ids of the messages and actions that are shown, in order."""
        found: list[str] = await self.page.eval_on_selector_all(
            ".entries > .entry-message, .entries > .entry-action", "all => all.map(one => one.dataset.key)"
        )
        return found


HAVE_KEY = "sessionStorage.getItem('agentrt.key') ?? sessionStorage.setItem('agentrt.key', '%s')"


class Console:
    """A server that runs, and the tabs that look at it."""

    def __init__(self, url: str, provider: ScriptedProvider, browser: Browser, key: str | None = None) -> None:
        self.url, self.provider, self.browser = url, provider, browser
        self.key = key
        """What a tab has from the start: the server's token, or a key."""

    async def tab(self, path: str = "/", within: BrowserContext | None = None, **options: Any) -> Tab:
        """A new tab, in a browser session of its own unless it is `within` one."""
        context = within or await self.browser.new_context(**({"viewport": DESKTOP} | options))
        tab = Tab(await context.new_page(), self)
        if self.key is not None:
            await tab.page.add_init_script(HAVE_KEY % self.key)
        await tab.page.goto(self.url + path)
        return tab

    async def log(self, conversation: str) -> list[dict[str, Any]]:
        """All events of a conversation, as the server has them."""
        headers = {"Authorization": f"Bearer {self.key}"} if self.key is not None else {}
        async with aiohttp.ClientSession(f"{self.url}/", headers=headers) as session:
            found: list[dict[str, Any]] = []
            after: int | None = 0
            while after is not None:
                async with session.get(f"conversations/{conversation}/events?after={after}&limit=1000") as answer:
                    page = msgspec.json.decode(await answer.read())
                found, after = found + page["items"], page["next"]
            return found


@asynccontextmanager
async def stage(
    directory: Path, turns: Iterable[Turn] | Script, *, pace: float = 0.0
) -> AsyncIterator[tuple[ScriptedProvider, Browser]]:
    """What is on both sides of a server: a provider with the words of the script, and a browser."""
    build()
    (directory / "workspaces").mkdir(exist_ok=True)
    async with ScriptedProvider(turns, pace=pace) as provider, async_playwright() as playwright:
        async with await chromium.connected(playwright) as browser:
            yield provider, browser


@asynccontextmanager
async def console(
    directory: Path,
    turns: Iterable[Turn] | Script,
    *,
    pace: float = 0.0,
    store: Path | None = None,
    below: str = "",
    **given: Any,
) -> AsyncIterator[Console]:
    """A server whose agent has the words of the script and what is `given`, and a browser; `below` a path of another
    application, where one is named.
    """
    async with stage(directory, turns, pace=pace) as (provider, browser):
        usual: dict[str, Any] = {"llm": provider.llm(), "analyzer": "rules", "confirmation": ConfirmRisky()}
        agent = Agent(**(usual | given))
        settings = ServerSettings(port=0, workspaces=(directory / "workspaces",), agent=agent, drain=0.5)
        runtime = Runtime(store or directory / "store", cipher=Cipher(Cipher.new_key()))
        app = create_app(runtime, settings)
        outer = Starlette(routes=[Mount(below, app)], lifespan=lifespan_of(app)) if below else app
        async with serving(outer, settings) as url:
            yield Console(url + below, provider, browser, app.state.access.token if app.state.access.is_open else None)


@asynccontextmanager
async def process(directory: Path, provider: ScriptedProvider, port: int) -> AsyncIterator[anyio.abc.Process]:
    """`agentrt serve`, once it listens. Killed at the end."""
    words = f"serve --port {port} --store {directory}/store -w {directory}/workspaces --confirm never"
    model = ["--model", "openai/scripted", "--base-url", provider.base_url]
    command = [sys.executable, "-m", "agentrt", *words.split(), *model]
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    async with await anyio.open_process(command, cwd=directory, env=environment, stderr=None) as running:
        try:
            assert running.stdout is not None
            said = b""
            with anyio.fail_after(60):
                while b"listens on" not in said:
                    said += await running.stdout.receive()
            yield running
        finally:
            if running.returncode is None:
                running.kill()
