"""The two pages of "A first hour" in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import async_playwright, expect

from tests import first_hour

from . import chromium
from .consoles import PATIENCE

pytestmark = pytest.mark.long


@pytest.mark.parametrize("path", ["/", "/socket"])
async def test_a_page_shows_the_answer(path: str, tmp_path: Path) -> None:
    environment = first_hour.write(tmp_path)
    problems = list[str]()
    async with (
        first_hour.stand_in(tmp_path, environment),
        first_hour.server(tmp_path, environment) as url,
        async_playwright() as playwright,
    ):
        browser = await chromium.connected(playwright)
        page = await browser.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(f"{url}{path}")
        log = page.locator("#log")
        await expect(log).to_contain_text("ConversationCreated", timeout=PATIENCE)
        await page.get_by_role("button").click()
        await expect(log).to_contain_text("The tool said: It rains in Oslo.", timeout=PATIENCE)
        await expect(log).to_contain_text("RunEnded", timeout=PATIENCE)
        await browser.close()
    assert problems == []
