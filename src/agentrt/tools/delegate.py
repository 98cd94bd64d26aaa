"""`delegate` and `task`: have a task done in a separate conversation. The log starts it; no executor runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import lru_cache
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
    """The executor of a tool whose calls the conversation itself carries out."""

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """Raise `ToolError`. Never called if the conversation carries out the call."""
        raise ToolError("this is done by the conversation itself, which this one cannot")

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""
        return


delegate = ToolType(
    name="delegate",
    description="Have a task done by another agent in the same workspace, and get its report. It knows only what you"
    " tell it. Several calls in one reply run side by side.",
    action=DelegateAction,
    executor=lambda params: NobodyHere(),
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
    effects=nothing,  # the delegated work is rated in its own conversation
    headline=("to {agent}: {task}", "{task}"),
    delegates=True,
)


class TaskAction(msgspec.Struct, frozen=True):
    """Arguments of `task`."""

    prompt: Annotated[
        str,
        Meta(
            min_length=1,
            description="What is to be done, with all that one needs to know who has not seen this conversation; and"
            " what is to be reported. With `resume`, what it is to do next.",
        ),
    ]
    description: Annotated[str, Meta(description="The task in three to five words, for a person.")] = ""
    subagent_type: Annotated[str, Meta(description="Which of the agents does it.")] = "general-purpose"
    resume: Annotated[
        str | None, Meta(description="The id of a task that was begun before, which goes on and knows what it did.")
    ] = None
    run_in_background: Annotated[
        bool,
        Meta(description="Go on meanwhile; a message tells of its end. `resume` tells it something until then."),
    ] = False


task = ToolType(
    name="task",
    description="Have a task done by an agent of its own in the same workspace, and get its report. It knows only what"
    " you tell it. Several calls in one reply run side by side.",
    action=TaskAction,
    executor=lambda params: NobodyHere(),
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
    effects=nothing,  # the delegated work is rated in its own conversation
    headline=("to {subagent_type}: {description}", "{prompt}"),
    aliases=("agent", "subagent"),
    delegates=True,
)


def to_agents(kind: ToolType, agents: Mapping[str, Agent]) -> ToolType:
    """Return a delegating tool whose description lists the agents that the model may name."""
    description = "\n".join((f"{kind.description} The agents are:", *_listed(agents)))
    try:
        return _described(kind, description)
    except TypeError:  # a part of it has no hash
        return dataclasses.replace(kind, description=description)


@lru_cache(64)
def _described(kind: ToolType, description: str) -> ToolType:
    """Return a tool with another description: the same one again, since a tool's schema takes a while to build."""
    return dataclasses.replace(kind, description=description)


def _listed(agents: Mapping[str, Agent]) -> Iterator[str]:
    for name, one in agents.items():
        yield f"- {name}: {one.description}" if one.description else f"- {name}"
