"""`agentrt browser`: installs and checks what browsing needs."""

from __future__ import annotations

import subprocess
import sys

import anyio
import click

from ..errors import ToolError
from ..tools.browser.finding import found

NO_LIBRARY = "browsing needs Playwright: pip install 'agentrt[browser]'"


@click.group()
def browser() -> None:
    """Install what browsing needs, or check that it is there."""
    if not found().library:
        raise click.ClickException(NO_LIBRARY)


@browser.command()
def install() -> None:
    """Download Playwright's Chromium. A Chromium of the system also works: apt install chromium."""
    sys.exit(subprocess.run([sys.executable, "-P", "-m", "playwright", "install", "chromium"], check=False).returncode)


@browser.command()
def check() -> None:
    """Start the browser, show a page, and report what is missing."""
    click.echo(f"It works: {anyio.run(_checked)}.")


async def _checked() -> str:
    from ..tools.browser.chromium import chromium

    try:
        async with chromium((), "", 1 << 20) as started:
            context = await started.context()
            page = await context.new_page()
            await page.set_content("<title>a page is shown</title>")
            title = await page.title()
            await context.close()
            return f"{started.version}, {title}"
    except ToolError as error:
        raise click.ClickException(str(error)) from error
