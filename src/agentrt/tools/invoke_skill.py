"""`invoke_skill`: returns the text of a listed skill. The conversation itself answers; no executor runs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..specs import OnCrash
from .definition import ToolType, nothing
from .delegate import NobodyHere
from .simple import HARMLESS


class InvokeSkillAction(msgspec.Struct, frozen=True):
    """Arguments of `invoke_skill`."""

    name: Annotated[str, Meta(min_length=1, description="The name of a skill in the list of skills.")]


invoke_skill = ToolType(
    name="invoke_skill",
    description="Get the text of a skill, and follow it. The files that it names stand beside its own.",
    action=InvokeSkillAction,
    executor=lambda params: NobodyHere(),
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
    effects=nothing,
    harmless=True,
    headline="{name}",
    aliases=("skill", "use_skill", "activate_skill"),
    invokes="name",
)
