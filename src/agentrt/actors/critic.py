"""`CriticActor`: has the agent's work judged. At its end, it sends the agent back to work with what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import msgspec
from msgspec.structs import replace

from ..cancelling import guarded
from ..context.judging import judgement, judging
from ..decisions import Judge
from ..errors import ActorError, LogError, ModelError
from ..events import ConversationErrorEvent, CriticAssessed, Event, GoalSet, MessageEvent
from ..protocols import Critic
from ..specs import Critic as CriticSpec
from ..specs import WorkspaceSpec
from ..specs.content import sound, text
from .dispatcher import Perform
from .event_log import Log
from .side_calls import SideCalls

GOAL = "goal"


class CriticActor(AbstractAsyncContextManager["CriticActor"]):
    """Performs `Judge`, with one of the runtime's critics or, for a goal, with a model."""

    def __init__(
        self, log: Log, critics: Mapping[str, Callable[[], Critic]], calls: SideCalls, workspace: WorkspaceSpec
    ) -> None:
        self._log, self._critics, self._calls, self._workspace = log, critics, calls, workspace

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Judge the work once."""
        assert isinstance(message.command, Judge)
        by = message.command.by
        if message.command.midway and isinstance(by, CriticSpec):
            events = await self._midway(by)
        else:
            events = await self._at_the_end(by)
        await self._log.append(*events, command=message.command.id)

    async def _midway(self, spec: CriticSpec) -> tuple[Event, ...]:
        """Return only the verdict. If the critic fails, the verdict has the error, and the run goes on."""
        try:
            return (replace(await self._assessed(spec), midway=True),)
        except (LogError, ActorError):
            raise
        except Exception as error:  # a critic is the user's own code
            failed = f"{type(error).__name__}: {error}"
            return (CriticAssessed(critic=spec.name, score=0.0, success=False, midway=True, error=failed),)

    async def _at_the_end(self, by: CriticSpec | GoalSet) -> tuple[Event, ...]:
        """Return the verdict, and the message that sends the agent back to work, if any.

        A critic that fails ends the run with an error, because its verdict is unknown.
        """
        try:
            return await (self._goal(by) if isinstance(by, GoalSet) else self._critic(by))
        except ModelError as error:
            failed = f"the work could not be judged: {error}"
            return (ConversationErrorEvent(code=error.code, detail=failed, retryable=error.retryable),)
        except (LogError, ActorError):
            raise
        except Exception as error:  # a critic is the user's own code
            failed = f"the work could not be judged: {type(error).__name__}: {error}"
            return (ConversationErrorEvent(code="critic", detail=failed),)

    async def _critic(self, spec: CriticSpec) -> tuple[Event, ...]:
        judged = self._log.state.branch.judged
        assessed = await self._assessed(spec)
        return _sent_back(assessed, again=not assessed.success and judged < spec.max_iterations)

    async def _assessed(self, spec: CriticSpec) -> CriticAssessed:
        history = await self._calls.history(self._log.state)
        with guarded:
            result = await self._critics[spec.name]().evaluate(history, self._workspace)
        return CriticAssessed(
            critic=spec.name,
            score=result.score,
            success=result.score >= spec.threshold and not result.refine,
            message=sound(result.message),
            refine=result.refine,
            metadata=msgspec.to_builtins(result.metadata),
        )

    async def _goal(self, goal: GoalSet) -> tuple[Event, ...]:
        state = self._log.state
        rounds = state.ledger.goal.iterations if state.ledger.goal is not None else 0
        history = await self._calls.history(state)
        reply = await self._calls.complete(judging(goal.objective, history), GOAL, goal.judge)
        result, complete = judgement(reply.text)
        assessed = CriticAssessed(critic=GOAL, score=result.score, success=complete, message=result.message)
        return _sent_back(assessed, again=not complete and rounds + 1 < goal.max_iterations)


def _sent_back(assessed: CriticAssessed, *, again: bool) -> tuple[Event, ...]:
    if not again:
        return (assessed,)
    words = f"This is not done yet (score {assessed.score:.2f}). What is missing: {assessed.message or 'nobody says'}"
    return (assessed, MessageEvent(content=text(words), caused_by=assessed.id))
