"""`switch_llm`: the agent continues with another model, named by its profile."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..protocols import Observation, ToolContext
from ..specs import OnCrash, ToolAnnotations
from ..specs.content import text
from .definition import Params, ToolType, nothing


class SwitchLLMAction(msgspec.Struct, frozen=True):
    """Arguments of `switch_llm`."""

    profile_name: Annotated[str, Meta(min_length=1, description="The name of a saved model.")]
    reason: Annotated[str, Meta(description="Why another model is better for what comes next.")] = ""


class SwitchLLM:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: SwitchLLMAction, context: ToolContext) -> Observation:
        """Switch from the next model call on. Raises `ToolError` if the profile does not exist or cannot be used."""
        name = await context.models.switch(action.profile_name)
        return Observation(content=text(f"From the next call on the model is {name}."))

    async def aclose(self) -> None: ...


switch_llm = ToolType(
    name="switch_llm",
    description=(
        "Go on with another model, by the name of its profile: a stronger one for what is hard, a cheaper one for what"
        " is easy. It sees all that you see."
    ),
    action=SwitchLLMAction,
    executor=SwitchLLM,
    annotations=ToolAnnotations(title="Switch the model", destructive=False, idempotent=True, open_world=False),
    on_crash=OnCrash.RETRY,
    effects=nothing,
    same="profile_name",
    headline=("{profile_name}: {reason}", "{profile_name}"),
    aliases=("switch_model", "change_model"),
)
