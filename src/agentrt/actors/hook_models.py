"""`HookModels`: runs the hooks that ask a model, or an agent of their own."""

from __future__ import annotations

from msgspec.structs import replace

from ..context.messages import Message
from ..decisions import Attend
from ..decisions.sharing import FOR_HOOKS, used_steps
from ..errors import ConfigurationError, EventRefused
from ..events import ChildFinished, ChildStarted, ExecutionStatus, Grant
from ..hooks import HookInput, HookResult
from ..hooks.replies import asking, read_answer
from ..ids import new_id
from ..ledger import allowance
from ..specs import LLM, AnyLLM, Hook, HookEvent
from ..specs.content import text
from .children import Children, Leaving
from .delegate import DelegateActor
from .event_log import Log
from .hooks import HookActor as HookActor
from .side_calls import SideCalls

USAGE = "hooks"
"""Usage id under which the model calls of hooks are summed."""

TIMES = 16
"""Maximum number of attempts to start an agent when others take what is left of the budget."""


class HookModels:
    """Asks a model one question, or has an agent find an answer; both are paid from the conversation's budget."""

    def __init__(self, log: Log, calls: SideCalls, children: Children, leaving: Leaving) -> None:
        self._log, self._calls, self._children, self._leaving = log, calls, children, leaving

    async def ask(self, hook: Hook, given: HookInput) -> HookResult:
        """Return the hook's result. Raise `ModelError` or `ConfigurationError`."""
        if hook.prompt is not None:
            words = asking(hook.prompt, given)
            reply = await self._calls.complete([Message("user", text(words))], USAGE, self._model(hook))
            return read_answer(given.event_type, reply.text)
        if given.event_type is HookEvent.END:
            raise ConfigurationError("an agent cannot be asked when the conversation has ended")
        return read_answer(given.event_type, await self._agent(hook, asking(hook.agent or "", given)))

    def _model(self, hook: Hook) -> AnyLLM | None:
        return LLM(model=hook.model) if hook.model else None

    async def _agent(self, hook: Hook, task: str) -> str:
        """Return the last words of an agent that does the task in its own conversation. Raise `ConfigurationError`."""
        child_id = f"{new_id()}-hook"
        await self._begin(ChildStarted(child_id=child_id, task=task, agent=FOR_HOOKS, model=hook.model or ""), hook)
        seeing = DelegateActor(self._log, self._children, self._leaving)
        ended, words = await seeing.see_through(Attend(f"attend-{child_id}", child_id))
        reports = [event for event in ended if isinstance(event, ChildFinished)]
        await self._log.append(*reports)
        if any(report.status is not ExecutionStatus.FINISHED for report in reports):
            raise ConfigurationError(f"its agent did not come to an end: {words}")
        return words

    async def _begin(self, started: ChildStarted, hook: Hook) -> None:
        """Log the start of an agent, which is granted half of the cost and tokens that are left.

        If the log refuses it because others began at the same moment, try again with what is left then.
        """
        for _ in range(TIMES):
            state = self._log.state
            left, limits = allowance(state.ledger, state.spec.limits), state.spec.limits
            grant = Grant(
                steps=max(min(hook.max_steps, limits.max_steps - used_steps(state)), 0),
                cost=None if left.cost is None else max(left.cost, 0.0) / 2,
                tokens=None if left.tokens is None else max(left.tokens, 0) // 2,
            )
            try:
                await self._log.append(replace(started, grant=grant))
                return
            except EventRefused:
                continue
        raise ConfigurationError("the budget has nothing left for the agent of a hook")
