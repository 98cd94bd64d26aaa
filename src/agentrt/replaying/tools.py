"""The tools of a replay: real definitions and checks, recorded results."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, cast

import anyio
import msgspec
from msgspec.structs import replace

from ..context.replies import BadCall
from ..events import AgentErrorEvent, ObservationEvent
from ..protocols import Observation, ToolContext
from ..specs import ToolDefinition, WorkspaceSpec
from ..specs.agent import MODEL
from ..specs.deferral import CALL, SEARCH
from ..specs.tool import ALWAYS
from ..tools import BUILT_IN, ToolType
from ..tools.definition import defined_tool
from .recording import Execution, Recording
from .stage import Stage

_FAILED = re.compile(r"^(?P<tool>\S+) failed: (?P<kind>\w+): (?P<text>.*)$", re.DOTALL)
_LAST_OUTPUT = re.compile(r"^Interrupted after \d+\.\d s\. Its last output was:\n(?P<text>.*)$", re.DOTALL)
_OWN_RATING = ("security_risk", "summary")


class RecordedExecutor:
    """A `ToolExecutor` that returns the recorded results of one tool, in the order in which its runs began."""

    def __init__(self, stage: Stage, tool: str) -> None:
        self._stage, self._tool = stage, tool

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """Return the recorded result. Raises the recorded failure of the tool."""
        run = self._stage.next_execution(self._tool) or Execution(begun=0)
        self._stage.at_work(run.begun)
        match run.outcome:
            case ObservationEvent() as result:
                try:
                    await self._stage.turn(run.ended)
                except anyio.get_cancelled_exc_class():  # it had ended by the time at which it was cut
                    await self._stage.turn_of_the_cut(run.ended)
                return _observation(result)
            case AgentErrorEvent(error=error) if failed := _FAILED.match(error):
                await self._stage.turn(run.ended)
                raise type(failed["kind"], (Exception,), {})(failed["text"])
            case AgentErrorEvent(error=error) if last := _LAST_OUTPUT.match(error):
                context.output(last["text"])
            case _ if run.left:
                await self._stage.reached(run.left)
                return Observation()  # which comes too late
            case _:
                pass
        return await self._stage.cut(run.ended)

    async def aclose(self) -> None:
        """Do nothing."""


def _observation(event: ObservationEvent) -> Observation:
    """Return the result of a tool, as it was when it was logged."""
    details = msgspec.json.decode(event.details_json)
    given = details if isinstance(details, dict) else {}
    kind: Callable[..., Observation] = _with_details(tuple(given)) if given else Observation
    still = not event.fingerprint
    return kind(content=event.content, is_error=event.is_error, still_running=still, found=event.found, **given)


@cache
def _with_details(names: tuple[str, ...]) -> Callable[..., Observation]:
    """Return an observation type with these additional fields, of any value."""
    fields = [(name, Any) for name in names]
    made: Any = msgspec.defstruct("RecordedObservation", fields, bases=(Observation,), frozen=True, kw_only=True)
    return cast("Callable[..., Observation]", made)


def tools_of(recording: Recording, stage: Stage, tools: Iterable[ToolType]) -> tuple[list[ToolType], tuple[str, ...]]:
    """Return the tools of a replay, and the names of those that are known only from the log.

    Tools that exist here keep their definition, their check of arguments and their resources.
    """
    known = BUILT_IN.overlaid({kind.name: kind for kind in tools})
    specs = (spec for agent in recording.agents for spec in agent.tools)
    names = dict.fromkeys([*(spec.name for spec in specs), *ALWAYS])
    found: list[ToolType] = []
    for name in names:
        if name in known:
            found.append(_acting(known[name], stage, recording.created.workspace))
        elif name in recording.definitions:
            found.append(_logged(recording.definitions[name], stage, recording))
    return found, tuple(name for name in names if name not in known)


def servers_tools(recording: Recording, stage: Stage) -> list[ToolType]:
    """Return the tools of MCP servers, as logged."""
    found = (tool for tool in recording.definitions.values() if tool.server or tool.name in (SEARCH, CALL))
    return [_logged(definition, stage, recording) for definition in found]


def _acting(kind: ToolType, stage: Stage, workspace: WorkspaceSpec) -> ToolType:
    return dataclasses.replace(
        kind,
        executor=lambda params: RecordedExecutor(stage, kind.name),
        resources=lambda action, _: kind.resources(action, workspace),
    )


def _logged(definition: ToolDefinition, stage: Stage, recording: Recording) -> ToolType:
    """Return a tool that is known only from the log."""
    name = definition.name

    def resources(arguments: Any, _: WorkspaceSpec) -> tuple[str, ...]:
        checked = recording.checked.get((name, bytes(arguments)))
        if checked is not None and checked.problem is not None:
            raise BadCall(checked.problem)
        return checked.resources if checked is not None else ()

    shown = _unrated(definition) if MODEL in recording.created.agent.analyzers else definition
    return defined_tool(shown, lambda: RecordedExecutor(stage, name), resources, msgspec.Raw)


def _unrated(definition: ToolDefinition) -> ToolDefinition:
    """Return a tool's definition without the rating that the model adds to its calls."""
    if definition.annotations.read_only:
        return definition
    shape: dict[str, Any] = msgspec.json.decode(definition.parameters)
    properties = {name: given for name, given in shape["properties"].items() if name not in _OWN_RATING}
    required = [name for name in shape["required"] if name not in _OWN_RATING]
    shape = {**shape, "properties": properties, "required": required}
    return replace(definition, parameters=msgspec.Raw(msgspec.json.encode(shape)))
