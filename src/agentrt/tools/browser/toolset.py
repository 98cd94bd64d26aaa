"""The `browser_*` tools: one for each browser action of the OpenHands SDK, all on one session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...protocols import Observation, ToolContext
from ...specs import OnCrash, ToolAnnotations, WorkspaceSpec
from ...specs.effects import Effects
from ..definition import Params, ToolType
from . import actions
from .actions import Did
from .held import Held, one_at_a_time
from .hiding import NO_PICTURE
from .observed import observed


class BrowserTool:
    """The executor of a `browser_*` tool."""

    def __init__(self, params: Params) -> None:
        self._held = Held(params)

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """Do one action. Raises `ToolError` that says what to do instead."""
        session = await self._held.session(context)
        async with session.step():
            did: Did = await action.do(session, context)
        return await seen(self._held, did, context)

    async def aclose(self) -> None:
        """Release the session. The last release closes its tabs."""
        self._held.release()


async def seen(held: Held, did: Did, context: ToolContext) -> Observation:
    """Return what the model is shown after an action."""
    session = await held.session(context)
    async with session.looking():
        tree = (await session.tree()).text if did.tree else None
        image = await session.picture() if did.picture else None
    said = did.said + (NO_PICTURE if did.picture and image is None else "")
    return await observed(session, context, said, tree=tree, image=image, film=did.film)


_READS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)
_ACTS = ToolAnnotations(open_world=True)


def _goes(action: actions.Navigate, workspace: WorkspaceSpec) -> Effects:
    url = action.url if "://" in action.url else f"https://{action.url}"
    return Effects(reaches=(url,))


def _acts(action: Any, workspace: WorkspaceSpec) -> Effects:
    """Return a placeholder: the action may send data to the page's server, which is not known here."""
    return Effects(reaches=("https://page.invalid/",))


def _looks(action: Any, workspace: WorkspaceSpec) -> Effects:
    return Effects()


def _tool(
    kind: type[Any],
    name: str,
    said: str,
    effects: Callable[[Any, WorkspaceSpec], Effects] = _acts,
    headline: str = "",
    **more: Any,
) -> ToolType:
    reads = effects is _looks
    declared: Mapping[str, Any] = {
        "annotations": _READS if reads else _ACTS,
        "on_crash": OnCrash.ASK,
        "resources": one_at_a_time,
        "labels": ("web",),
        "effects": effects,
        "headline": (headline,) if headline else (),
        **more,
    }
    return ToolType(name=f"browser_{name}", description=said, action=kind, executor=BrowserTool, **declared)


browser_navigate = _tool(
    actions.Navigate,
    "navigate",
    "Open an address in a browser that lasts, and see the page: its elements, with numbers to act on them by.",
    _goes,
    "{url}",
    holds_resource=True,
    same="url",
)
browser_click = _tool(
    actions.Click, "click", "Click an element by its number, and see the page then.", headline="[{index}]"
)
browser_type = _tool(
    actions.Type,
    "type",
    "Fill in a field by its number, and see the page then. A secret is written as $NAME.",
    headline="[{index}] {text}",
)
browser_get_state = _tool(
    actions.GetState, "get_state", "See the page: its elements with their numbers, and a picture if wanted.", _looks
)
browser_get_content = _tool(
    actions.GetContent, "get_content", "Read the text of the page, part by part if it is long, and its links.", _looks
)
browser_scroll = _tool(actions.Scroll, "scroll", "Scroll the page up or down.", _looks, "{direction}")
browser_go_back = _tool(actions.GoBack, "go_back", "Go back to the page before.")
browser_list_tabs = _tool(actions.ListTabs, "list_tabs", "List the tabs with their numbers.", _looks)
browser_switch_tab = _tool(actions.SwitchTab, "switch_tab", "Act on another tab.", _looks, "tab {tab_id}")
browser_close_tab = _tool(actions.CloseTab, "close_tab", "Close a tab.", headline="tab {tab_id}")
browser_get_storage = _tool(
    actions.GetStorage, "get_storage", "Read cookies and what pages have stored, as JSON.", _looks
)
browser_set_storage = _tool(actions.SetStorage, "set_storage", "Set cookies and what pages have stored.")
browser_start_recording = _tool(
    actions.StartRecording, "start_recording", "Record what the tab shows, until browser_stop_recording.", _looks
)
browser_stop_recording = _tool(
    actions.StopRecording, "stop_recording", "End the recording; it becomes a file in the workspace."
)

BROWSER_TOOLS = (
    *(browser_navigate, browser_click, browser_type, browser_get_state, browser_get_content, browser_scroll),
    *(browser_go_back, browser_list_tabs, browser_switch_tab, browser_close_tab, browser_get_storage),
    *(browser_set_storage, browser_start_recording, browser_stop_recording),
)
