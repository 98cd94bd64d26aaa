"""`delegate`: has a task done by a conversation of its own. The log starts that one; no executor runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..errors import ToolError
from ..protocols import Observation, ToolContext
from ..specs import Agent, OnCrash
from .definition import ToolType, nothing


class DelegateAction(msgspec.Struct, frozen=True):
    """Arguments of `delegate`."""

    task: Annotated[
        str,
        Meta(
            min_length=1,
            description="What is to be done, with all that one needs to know who has not seen this conversation; and"
            " what is to be reported.",
        ),
    ]
    agent: Annotated[str, Meta(description="Which of the agents there are does it. Default: one like you.")] = ""


class NobodyHere:
    """The executor of a tool that the conversation performs itself."""

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """Never called where a conversation does its part."""
        raise ToolError("this is done by the conversation itself, which this one cannot")

    async def aclose(self) -> None:
        """Nothing to give up."""
        return


delegate = ToolType(
    name="delegate",
    description="Have a task done by another agent in the same workspace, and get its report. It knows only what you"
    " tell it. Several calls in one reply run side by side.",
    action=DelegateAction,
    executor=lambda params: NobodyHere(),
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
    effects=nothing,  # what is delegated is rated where it is done
    headline=("to {agent}: {task}", "{task}"),
    delegates=True,
)


def to_agents(kind: ToolType, agents: Mapping[str, Agent]) -> ToolType:
    """`delegate` for an agent that has others by name, which are told to the model."""
    named = ", ".join(sorted(agents))
    return dataclasses.replace(kind, description=f"{kind.description} The agents are: {named}.")
