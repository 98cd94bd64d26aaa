"""`browse`: a browser controlled by BrowserGym's action space, which models are trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ...errors import ToolError
from ...protocols import Observation, ToolContext
from ...specs import OnCrash, ToolAnnotations, WorkspaceSpec
from ...specs.effects import Effects
from ..definition import Params, ToolType
from .gym import GymCall, documented, parsed
from .held import Held, one_at_a_time
from .hiding import NO_PICTURE
from .marks import marked
from .observed import observed
from .performing import Performer
from .session import Session
from .tree import Box, by_bid


class BrowseAction(msgspec.Struct, frozen=True):
    """Arguments of `browse`."""

    code: Annotated[str, Meta(description="Calls, one a line, made in their order until one fails. Empty: only look.")]
    screenshot: Annotated[
        Literal["none", "plain", "marks"],
        Meta(description="A picture of the window: none, as it is, or with the bids of the elements drawn on it."),
    ] = "none"


class Browse:
    """The executor."""

    def __init__(self, params: Params) -> None:
        self._held = Held(params)

    async def __call__(self, action: BrowseAction, context: ToolContext) -> Observation:
        """Make the calls. Raises `ToolError` before the first one if the code is invalid."""
        calls = parsed(action.code) if action.code.strip() else ()
        session = await self._held.session(context)
        performer, failed = Performer(session, context), ""
        for number, call in enumerate(calls, 1):
            try:
                async with session.step():
                    await performer.make(call)
            except ToolError as error:
                failed = f"Error: call {number} of {len(calls)}, {call.name}: {error}"
                break
        return await self._seen(action, performer, failed, context)

    async def aclose(self) -> None:
        """Release the session. The last release closes its tabs."""
        self._held.release()

    async def _seen(self, action: BrowseAction, performer: Performer, failed: str, context: ToolContext) -> Observation:
        session = await self._held.session(context)
        async with session.looking():
            await session.page()
            tree = await session.tree(by_bid)
            image = await _picture(session, action.screenshot, tree.boxes) if action.screenshot != "none" else None
        focused = f"Focused element: {by_bid(tree.focused)}" if tree.focused is not None else ""
        said = "\n".join(filter(None, [failed, *performer.said, focused]))
        if action.screenshot != "none" and image is None:
            said += NO_PICTURE
        return await observed(session, context, said, tree=tree.text, image=image, is_error=bool(failed))


async def _picture(session: Session, kind: str, boxes: Mapping[int, Box]) -> bytes | None:
    if kind == "plain":
        return await session.picture()
    async with marked(await session.page(), boxes):
        return await session.picture()


def _calls(action: BrowseAction) -> tuple[GymCall, ...]:
    try:
        return parsed(action.code)
    except ToolError:
        return ()  # it will be refused


_LOOKING = frozenset({"noop", "scroll", "send_msg_to_user", "report_infeasible", "tab_focus", "hover", "mouse_move"})


def _effects(action: BrowseAction, workspace: WorkspaceSpec) -> Effects:
    calls = _calls(action)
    reaches = [str(call.arguments["url"]) for call in calls if call.name == "goto"]
    if any(call.name not in _LOOKING and call.name != "goto" for call in calls):
        reaches.append("https://page.invalid/")  # it may send data to the page's server, which is not known here
    files = [call.arguments["file"] for call in calls if "file" in call.arguments]
    reads = [path for one in files for path in ([one] if isinstance(one, str) else one)]
    return Effects(reaches=tuple(reaches), reads=tuple(reads))


browse = ToolType(
    name="browse",
    description=(
        "Act in a browser that lasts, and see the page: its elements with their bids in brackets, such as [a51]. The"
        f" code is calls of these functions with literal arguments: {documented()}. A secret is written as $NAME."
    ),
    action=BrowseAction,
    executor=Browse,
    annotations=ToolAnnotations(title="Browse", open_world=True),
    on_crash=OnCrash.ASK,
    holds_resource=True,
    resources=one_at_a_time,
    labels=("web",),
    effects=_effects,
    headline=("{code}", "(looks at the page){code:empty}"),
)
