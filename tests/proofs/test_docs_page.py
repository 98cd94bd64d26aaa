"""The page at /docs in a real browser: it shows every operation, and asks nobody but its server."""

from __future__ import annotations

import pytest
from playwright.async_api import async_playwright, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from agentrt.server import ServerSettings, pages
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.routing import routes
from agentrt.server.running import serving

from . import chromium
from .consoles import PATIENCE, build

pytestmark = pytest.mark.long


@pytest.mark.parametrize("prefix", ["", "/agents"])
async def test_it_shows_the_operations_and_loads_no_foreign_host(prefix: str) -> None:
    build()
    documented = [endpoint for endpoint in ENDPOINTS if endpoint.name == "openapi"]
    app = Starlette(routes=[Mount(prefix, routes=[*routes(documented), *pages.routes()])])
    app.state.services = None  # nothing that is asked here needs it
    asked, problems = list[str](), list[str]()
    async with serving(app, ServerSettings(port=0)) as url, async_playwright() as playwright:
        browser = await chromium.connected(playwright)
        page = await browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(f"{url}{prefix}/docs")
        operations = page.locator(".opblock")
        await expect(operations).to_have_count(len(ENDPOINTS) + 1, timeout=PATIENCE)  # and the stream of events
        created = page.locator("#operations-conversations-create_conversation")
        await created.locator(".opblock-summary-control").click()
        await expect(created.get_by_text("Idempotency-Key").first).to_be_visible()
        await browser.close()
    assert all(one.startswith((f"{url}{prefix}/", "data:")) for one in asked), asked
    assert f"{url}{prefix}/openapi.json" in asked
    assert problems == []
