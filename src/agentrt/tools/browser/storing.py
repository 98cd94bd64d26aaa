"""Replaces the cookies and the values that pages have stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import ToolError

if TYPE_CHECKING:
    from .session import Session

_STORE = """(() => {
  const stored = %s, mine = stored[location.origin] || {};
  if (Number(sessionStorage.getItem('agentrt-stored')) < %d) {
    localStorage.clear();
    for (const name in mine) localStorage.setItem(name, mine[name]);
    sessionStorage.setItem('agentrt-stored', '%d');
  }
})()"""
"""Script of a new page: once in each tab, makes the values that were stored last for its origin its only ones."""


async def store(session: Session, cookies: list[Any], origins: list[Any]) -> None:
    """Replace cookies and stored values by these, as Playwright's `storage_state` gives them. Reload open pages.

    Raises `ToolError` for values of another shape.
    """
    try:
        stored = {one["origin"]: {each["name"]: each["value"] for each in one["localStorage"]} for one in origins}
    except (KeyError, TypeError) as error:
        raise ToolError("an origin has 'origin' and 'localStorage', a list of 'name' and 'value'") from error
    context: Any = await session.context()
    before = await context.cookies()
    await context.clear_cookies()
    try:
        await context.add_cookies(cookies)
    except Exception:
        await context.add_cookies(before)
        raise
    session.stored += 1
    await context.add_init_script(_STORE % (json.dumps(stored), session.stored, session.stored))
    for page in session.tabs.pages:
        if page.url.startswith("http"):
            await page.reload(wait_until="domcontentloaded")
