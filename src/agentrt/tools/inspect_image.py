"""`inspect_image`: a vision model answers a question about an image, for a model that sees no images."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..protocols import Observation, ToolContext
from ..specs import OnCrash, ToolAnnotations
from ..specs.content import text
from .definition import Params, ToolType, nothing


class InspectImageAction(msgspec.Struct, frozen=True):
    """Arguments of `inspect_image`."""

    image_index: Annotated[int, Meta(ge=1, description="The number of the image, as it stands in its place.")]
    question: Annotated[str, Meta(min_length=1, description="What is to be found out about it.")]
    profile_name: Annotated[str, Meta(description="The saved model that is asked; default: your own model.")] = ""


class InspectImage:
    """The executor. Its parameter `profile` is the model to ask if a call names none."""

    def __init__(self, params: Params) -> None:
        given = params.get("profile")
        self._profile = given if isinstance(given, str) else ""

    async def __call__(self, action: InspectImageAction, context: ToolContext) -> Observation:
        """Return the answer. Raises `ToolError` if there is no such image, or no vision model."""
        profile = action.profile_name or self._profile
        return Observation(content=text(await context.models.look(action.image_index, action.question, profile)))

    async def aclose(self) -> None: ...


inspect_image = ToolType(
    name="inspect_image",
    description="Have a model that sees images answer a question about one of this conversation, by its number.",
    action=InspectImageAction,
    executor=InspectImage,
    annotations=ToolAnnotations(
        title="Look at an image", read_only=True, destructive=False, idempotent=True, open_world=False
    ),
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
    effects=nothing,
    headline="{image_index}: {question}",
    aliases=("inspect_image_with_vision", "look_at_image", "describe_image"),
    looks=True,
)
