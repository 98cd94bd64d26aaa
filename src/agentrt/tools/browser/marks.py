"""Bids drawn on a page while a picture of it is taken ("set of marks", arXiv 2310.11441)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from .tree import Box

if TYPE_CHECKING:
    from playwright.async_api import Page

MOST = 300
"""Maximum number of marks in a picture."""

_DRAW = """(marks) => {
  const host = document.createElement('div');
  host.style.cssText = 'position:fixed;inset:0;pointer-events:none;z-index:2147483647';
  const root = host.attachShadow({mode: 'closed'});
  for (const [name, x, y, width, height] of marks) {
    const box = document.createElement('div');
    box.style.cssText = `position:absolute;left:${x}px;top:${y}px;width:${width}px;height:${height}px;` +
      'border:1px solid #d00;box-sizing:border-box';
    const label = document.createElement('span');
    label.textContent = name;
    label.style.cssText = 'position:absolute;top:0;right:0;font:10px monospace;background:#d00;color:#fff';
    box.append(label);
    root.append(box);
  }
  document.documentElement.append(host);
  window.__agentrt_marks = host;
}"""
_CLEAR = "() => { window.__agentrt_marks?.remove(); delete window.__agentrt_marks; }"


@asynccontextmanager
async def marked(page: Page, boxes: Mapping[int, Box]) -> AsyncIterator[None]:
    """Draw the bids while the body takes a picture, then remove them."""
    seen = ((number, box) for number, box in boxes.items() if box.width > 0 and box.height > 0)
    marks = [[f"a{number}", box.x, box.y, box.width, box.height] for number, box in seen][:MOST]
    await page.evaluate(_DRAW, marks)
    try:
        yield
    finally:
        await page.evaluate(_CLEAR)
