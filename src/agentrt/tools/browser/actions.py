"""The actions of the `browser_*` tools: their arguments, and what each does to a session."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import anyio.to_thread
import msgspec
from msgspec import Meta

from ...errors import ToolError
from ...protocols import ToolContext
from .files import put_file
from .recording import Recording
from .session import Session
from .storing import store

MOST_TEXT = 30_000
"""Characters of a page's text that one call shows."""

MOST_LINKS = 200

Index = Annotated[int, Meta(ge=1, description="The element's number, as in [5].")]
TabId = Annotated[int, Meta(ge=1, description="The number of the tab.")]
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_NO_TAB = ", which opened no other tab: only a link does."
_TEXT = "() => document.body ? document.body.innerText : ''"
_LINKS = """(most) => [...document.querySelectorAll('a[href]')].slice(0, most)
  .map(a => [(a.innerText || a.getAttribute('aria-label') || '').trim().slice(0, 200), a.href])"""


class Did(msgspec.Struct, frozen=True):
    """The result of an action: what it did, in words, and whether to show the page's tree and a picture of it."""

    said: str
    tree: bool = False
    picture: bool = False
    film: bytes | None = None
    """A recording, as an animated WebP."""


class Navigate(msgspec.Struct, frozen=True):
    """Go to an address."""

    url: Annotated[str, Meta(min_length=1, description="The address.")]
    new_tab: Annotated[bool, Meta(description="Whether it is opened in another tab.")] = False

    async def do(self, session: Session, context: ToolContext) -> Did:
        if self.new_tab:
            await session.open_tab()
        await session.go(self.url)
        return Did(f"Went to {self.url}.", tree=True)


class Click(msgspec.Struct, frozen=True):
    """Click an element."""

    index: Index
    new_tab: Annotated[bool, Meta(description="Whether a link is opened in another tab.")] = False

    async def do(self, session: Session, context: ToolContext) -> Did:
        if self.new_tab:
            session.tabs.need_room()
        last = session.tabs.last
        await session.element(self.index).click(modifiers=["ControlOrMeta"] if self.new_tab else [])
        missed = self.new_tab and not await session.wait_for_tab(last)
        return Did(f"Clicked [{self.index}]{_NO_TAB if missed else '.'}", tree=True)


class GetState(msgspec.Struct, frozen=True):
    """See what the page shows."""

    include_screenshot: Annotated[bool, Meta(description="Whether to see a picture of the window, too.")] = False

    async def do(self, session: Session, context: ToolContext) -> Did:
        return Did("", tree=True, picture=self.include_screenshot)


class GetContent(msgspec.Struct, frozen=True):
    """Read the text of the page."""

    extract_links: Annotated[bool, Meta(description="Whether to list the links, too.")] = False
    start_from_char: Annotated[int, Meta(ge=0, description="Characters to skip, to go on with a long text.")] = 0

    async def do(self, session: Session, context: ToolContext) -> Did:
        page = await session.page()
        text = str(await page.evaluate(_TEXT))
        shown = text[self.start_from_char : self.start_from_char + MOST_TEXT]
        rest = len(text) - self.start_from_char - len(shown)
        more = f"\n[{rest:,} characters more: go on with start_from_char {self.start_from_char + len(shown)}]"
        said = f"{shown}{more if rest > 0 else ''}" or "[the page has no text]"
        if self.extract_links:
            links = await page.evaluate(_LINKS, MOST_LINKS)
            said += "".join(f"\n- {name}: {target}" for name, target in links) or "\n[there are no links]"
        return Did(said)


class Type(msgspec.Struct, frozen=True):
    """Fill in a field."""

    index: Index
    text: Annotated[str, Meta(description="The whole text of the field. `$NAME` stands for a secret.")]

    async def do(self, session: Session, context: ToolContext) -> Did:
        field = session.element(self.index)
        await field.fill(await filled(self.text, session, context))
        return Did(f"Filled in [{self.index}].", tree=True)


class Scroll(msgspec.Struct, frozen=True):
    """Scroll the page."""

    direction: Annotated[Literal["up", "down"], Meta(description="Where to.")] = "down"

    async def do(self, session: Session, context: ToolContext) -> Did:
        page = await session.page()
        moved = await page.evaluate(
            "(sign) => { const y = scrollY; scrollBy(0, sign * innerHeight * 0.8); return scrollY - y; }",
            1 if self.direction == "down" else -1,
        )
        return Did(f"Scrolled {self.direction} by {abs(moved):.0f} pixels.", tree=True)


class GoBack(msgspec.Struct, frozen=True):
    """Go back to the page before."""

    async def do(self, session: Session, context: ToolContext) -> Did:
        if await (await session.page()).go_back(wait_until="domcontentloaded") is None:
            return Did("There was no page before this one.")
        return Did("Went back.", tree=True)


class ListTabs(msgspec.Struct, frozen=True):
    """List the tabs."""

    async def do(self, session: Session, context: ToolContext) -> Did:
        tabs = await session.tabs.shown()
        rows = (f"{tab.id}{' (active)' if tab.active else ''}: {tab.url} {tab.title!r}" for tab in tabs)
        return Did("\n".join(rows) or "No tab is open.")


class SwitchTab(msgspec.Struct, frozen=True):
    """Act on another tab from now on."""

    tab_id: TabId

    async def do(self, session: Session, context: ToolContext) -> Did:
        session.tabs.choose(self.tab_id)
        return Did(f"Tab {self.tab_id} is the active one.", tree=True)


class CloseTab(msgspec.Struct, frozen=True):
    """Close a tab."""

    tab_id: TabId

    async def do(self, session: Session, context: ToolContext) -> Did:
        await session.tabs.get(self.tab_id).close()
        return Did(f"Closed tab {self.tab_id}.")


class GetStorage(msgspec.Struct, frozen=True):
    """Read the cookies and what pages have stored."""

    async def do(self, session: Session, context: ToolContext) -> Did:
        state = await (await session.context()).storage_state()
        return Did(json.dumps(state, ensure_ascii=False))


class SetStorage(msgspec.Struct, frozen=True):
    """Set the cookies and what pages have stored, instead of what is there."""

    storage_state: Annotated[
        dict[str, Any], Meta(description="As browser_get_storage gives it: {'cookies': [...], 'origins': [...]}.")
    ]

    async def do(self, session: Session, context: ToolContext) -> Did:
        wanted = self.storage_state
        if not wanted.keys() <= {"cookies", "origins"} or not all(isinstance(one, list) for one in wanted.values()):
            raise ToolError("storage_state has lists 'cookies' and 'origins', as browser_get_storage gives them")
        await store(session, wanted.get("cookies", []), wanted.get("origins", []))
        return Did("The storage is set.")


class StartRecording(msgspec.Struct, frozen=True):
    """Record what the active tab shows."""

    async def do(self, session: Session, context: ToolContext) -> Did:
        if session.recording is not None:
            raise ToolError("it is recorded already: browser_stop_recording ends that")
        session.recording = await Recording.begun(await session.page(), session.hiding)
        return Did("What the tab shows is recorded from now on.")


class StopRecording(msgspec.Struct, frozen=True):
    """End the recording, and keep it in the workspace."""

    async def do(self, session: Session, context: ToolContext) -> Did:
        recording, session.recording = session.recording, None
        if recording is None:
            raise ToolError("nothing is recorded: browser_start_recording begins")
        data, frames, seconds = await recording.finished()
        path = await anyio.to_thread.run_sync(put_file, "recordings/recording.webp", data, context)
        return Did(f"Recorded {frames} pictures over {seconds:.1f} s: {path}, an animated picture.", film=data)


async def filled(text: str, session: Session, context: ToolContext) -> str:
    """Replace the names of secrets in a text by the secrets. No picture shows them from now on."""
    values: Mapping[str, str] = await context.secrets(text)
    if not values:
        return text
    typed = _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
    session.hiding.add((*values.values(), typed))
    return typed
