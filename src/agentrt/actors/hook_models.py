"""What a hook asks a model, or an agent of its own."""

from __future__ import annotations

from collections.abc import Callable

from ..context.messages import Message
from ..decisions import Attend
from ..errors import ConfigurationError
from ..events import ChildFinished, ChildStarted, Grant
from ..hooks import HookInput, HookResult
from ..hooks.replies import asking, read_answer
from ..ids import new_id
from ..ledger import allowance
from ..specs import LLM, AnyLLM, Hook, HookEvent
from ..specs.content import text
from .delegate import Children, DelegateActor
from .event_log import Log
from .side_calls import SideCalls

USAGE = "hooks"
"""Under which name the calls of hooks are summed."""

LOOKS = "code-explorer"
"""The agent that does the task of a hook."""


class HookModels:
    """Asks a model one question, or has an agent find an answer; both are paid from the conversation's budget."""

    def __init__(self, log: Log, calls: SideCalls, children: Children, leaving: Callable[[], bool]) -> None:
        self._log, self._calls, self._children, self._leaving = log, calls, children, leaving

    async def ask(self, hook: Hook, given: HookInput) -> HookResult:
        """What comes of it. Raises `ModelError` or `ConfigurationError`."""
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
        """The last words of an agent that has a conversation of its own for this."""
        child_id = f"{new_id()}-hook"
        state = self._log.state
        left = allowance(state.ledger, state.spec.limits)
        grant = Grant(steps=min(hook.max_steps, state.spec.limits.max_steps), cost=left.cost, tokens=left.tokens)
        await self._log.append(ChildStarted(child_id=child_id, task=task, agent=LOOKS, grant=grant))
        seeing = DelegateActor(self._log, self._children, self._leaving)
        ended, words = await seeing.see_through(Attend(f"attend-{child_id}", child_id))
        await self._log.append(*(event for event in ended if isinstance(event, ChildFinished)))
        return words
