"""The model, tools and analyzers of a replay: they give what was recorded, each when its turn has come."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import anyio
import msgspec
from msgspec.structs import replace

from ..context.messages import to_messages
from ..context.replies import BadCall, ModelReply
from ..context.views import viewed
from ..errors import ModelError
from ..events import ActionEvent, AgentErrorEvent, BudgetReserved, ObservationEvent
from ..protocols import FailedTry, ModelRequest, Observation, SecurityAnalyzer, ToolContext, Watch
from ..security.rating import Rating
from ..specs import LLM, AnyLLM, Capabilities, LocalWorkspace, ToolDefinition
from ..specs.llm import members
from ..specs.tool import FINISH, THINK
from ..tools import BUILT_IN, ToolType
from .comparing import Side, compare_messages
from .recording import Call, Execution, Recording
from .stage import Stage

_FAILED = re.compile(r"^(?P<tool>\S+) failed: (?P<kind>\w+): (?P<text>.*)$", re.DOTALL)
_LAST_OUTPUT = re.compile(r"^Interrupted after \d+\.\d s\. Its last output was:\n(?P<text>.*)$", re.DOTALL)


class RecordedModel:
    """A `ModelClient` that gives the recorded replies, once it was sent what the model was sent then."""

    def __init__(self, recording: Recording, stage: Stage, recorded: Side, replayed: Side) -> None:
        self._recording, self._stage = recording, stage
        self._recorded, self._replayed = recorded, replayed

    async def prepare(self, llm: AnyLLM) -> None:
        """Nothing to load."""

    def known(self, llm: LLM) -> Capabilities:
        """No price: it costs nothing."""
        return Capabilities(input_cost=0.0, output_cost=0.0)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The recorded reply. Raises the recorded error; a call that was cut waits until it is again."""
        call = self._stage.next_call()
        if call is None:
            await anyio.sleep_forever()
        assert call is not None
        await self._stage.reached(call.begun)
        then = self._recorded.messages(to_messages(viewed(call.view, self._recording.by_seq)))
        if difference := compare_messages(then, self._replayed.messages(request.messages), call.begun):
            self._stage.differ(difference)
            await anyio.sleep_forever()
        await self._try(call, request, watch)
        if call.shown:
            watch.show("text", call.shown)
        self._stage.at_work(call.begun)
        if call.outcome is None:
            await self._stage.cut(call.ended)
        await self._stage.turn(call.ended)
        if isinstance(call.outcome, ModelError):
            raise call.outcome
        assert call.outcome is not None
        return call.outcome

    async def _try(self, call: Call, request: ModelRequest, watch: Watch) -> None:
        """What was reserved and tried before the outcome."""
        for event in call.tries:
            await self._stage.turn(event.seq)
            if isinstance(event, BudgetReserved):
                one = members(request.llm)[0]
                await watch.begin(replace(request, llm=one), self.known(one))
            else:
                names = event.model, event.next_model
                await watch.failed(FailedTry(event.attempt, *names, event.code, event.detail, event.wait))


class RecordedExecutor:
    """A `ToolExecutor` that gives the recorded results of one tool, in the order in which its runs were begun."""

    def __init__(self, stage: Stage, tool: str) -> None:
        self._stage, self._tool = stage, tool

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """The recorded result. Raises what was recorded as the tool's failure."""
        run = self._stage.next_execution(self._tool) or Execution(begun=0)
        self._stage.at_work(run.begun)
        match run.outcome:
            case ObservationEvent(content=content, is_error=is_error):
                try:
                    await self._stage.turn(run.ended)
                except anyio.get_cancelled_exc_class():  # it had ended by the time at which it was cut
                    with anyio.CancelScope(shield=True):
                        await self._stage.turn(run.ended)
                return Observation(content=content, is_error=is_error)
            case AgentErrorEvent(error=error) if failed := _FAILED.match(error):
                await self._stage.turn(run.ended)
                raise type(failed["kind"], (Exception,), {})(failed["text"])
            case AgentErrorEvent(error=error) if last := _LAST_OUTPUT.match(error):
                context.output(last["text"])
            case _:
                pass
        return await self._stage.cut(run.ended)

    async def aclose(self) -> None:
        """Nothing to give up."""


class RecordedAnalyzer:
    """A `SecurityAnalyzer` that rates in the recorded order: by the rules that it is given, or as was recorded."""

    def __init__(self, recording: Recording, stage: Stage, rules: SecurityAnalyzer | None) -> None:
        self._recording, self._stage, self._rules = recording, stage, rules

    async def assess(self, action: ActionEvent, workspace: LocalWorkspace) -> Rating:
        """The rating, for the recorded workspace."""
        ratings = self._recording.ratings.get(action.seq, [])
        rating = next((rating for rating in ratings if rating.seq > self._stage.matched), None)
        await self._stage.turn(rating.seq if rating is not None else None)
        if self._rules is not None:
            return await self._rules.assess(action, self._recording.created.workspace)
        assert rating is not None
        return Rating(rating.risk, rating.reason)


@dataclass(frozen=True)
class _LoggedTool(ToolType):
    """A tool that is known from the log only."""

    logged: ToolDefinition | None = None

    @cached_property
    def definition(self) -> ToolDefinition:
        assert self.logged is not None
        return self.logged

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(msgspec.Raw)


def stand_ins(recording: Recording, stage: Stage, tools: Iterable[ToolType]) -> tuple[list[ToolType], tuple[str, ...]]:
    """The tools of a replay, and the names of those that are known from the log only.

    Those that are known here keep their definition, their check of arguments and their resources.
    """
    known = {kind.name: kind for kind in (*BUILT_IN, *tools)}
    specs = (spec for agent in recording.agents for spec in agent.tools)
    names = dict.fromkeys([*(spec.name for spec in specs), THINK, FINISH])
    found: list[ToolType] = []
    for name in names:
        if name in known:
            found.append(_acting(known[name], stage, recording.created.workspace))
        elif name in recording.definitions:
            found.append(_logged(recording.definitions[name], stage, recording))
    return found, tuple(name for name in names if name not in known)


def _acting(kind: ToolType, stage: Stage, workspace: LocalWorkspace) -> ToolType:
    return dataclasses.replace(
        kind,
        executor=lambda params: RecordedExecutor(stage, kind.name),
        resources=lambda action, _: kind.resources(action, workspace),
    )


def _logged(definition: ToolDefinition, stage: Stage, recording: Recording) -> ToolType:
    name = definition.name

    def resources(arguments: Any, _: LocalWorkspace) -> tuple[str, ...]:
        checked = recording.checked.get((name, bytes(arguments)))
        if checked is not None and checked.problem is not None:
            raise BadCall(checked.problem)
        return checked.resources if checked is not None else ()

    return _LoggedTool(
        name=name,
        description=definition.description,
        action=msgspec.defstruct("Unknown", []),
        executor=lambda params: RecordedExecutor(stage, name),
        resources=resources,
        logged=definition,
    )


def analyzers(
    recording: Recording, stage: Stage, known: Mapping[str, Callable[[], SecurityAnalyzer]]
) -> dict[str, Callable[[], SecurityAnalyzer]]:
    """The analyzers of a replay, by name: the real rules where they are known."""

    def rated(rules: Callable[[], SecurityAnalyzer] | None) -> RecordedAnalyzer:
        return RecordedAnalyzer(recording, stage, rules() if rules is not None else None)

    names = [*known, *(name for agent in recording.agents for name in agent.analyzers)]
    return {name: partial(rated, known.get(name)) for name in names}
