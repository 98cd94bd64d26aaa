"""`Answering`: asks a person about pending actions and inputs, one at a time, and passes the answers on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import anyio

from ..conversation import Conversation
from ..errors import AgentrtError
from ..events import InputRequested
from ..storing import Storage
from .asking import Answer, Approve, Quit, Refuse, Reply
from .forms import Fill
from .questions import Question, question_of

T = TypeVar("T")


class Answering:
    """Asks about the pending actions and inputs of a conversation, with the callbacks `answer` and `fill`.

    `store` has the logs of the conversations that it delegated to.
    """

    def __init__(self, conversation: Conversation, store: Storage, answer: Answer, fill: Fill) -> None:
        self._conversation, self._store = conversation, store
        self._answer, self._fill = answer, fill
        self._open: anyio.CancelScope | None = None
        self.stopped = False
        """Whether the person has stopped the run: pending actions are interrupted, and no more questions are asked."""

    def take_back(self) -> bool:
        """Take back the open question, and return whether there was one."""
        if self._open is None:
            return False
        self._open.cancel()
        return True

    async def ask(self) -> None:
        """Ask until no action or input is pending."""
        while not self.stopped and (inputs := self._conversation.pending_inputs):
            await self._input(inputs[0])
        while not self.stopped and (waiting := self._conversation.pending_confirmation):
            question = await question_of(self._conversation, waiting[0], self._store)
            reply = await self._unless_taken_back(partial(self._waits, question), self._answer, question)
            if self.stopped:
                await self._conversation.interrupt()
            elif reply is not None and self._waits(question):
                await self._pass_on(question, reply)

    async def _input(self, asked: InputRequested) -> None:
        def waits() -> bool:
            return asked in self._conversation.pending_inputs

        verdict, content = await self._unless_taken_back(waits, self._fill, asked) or ("decline", {})
        if self.stopped:
            await self._conversation.interrupt()
        elif waits():
            await self._conversation.give_input(asked.id, content, verdict)

    async def _unless_taken_back(
        self, waits: Callable[[], bool], ask: Callable[..., Awaitable[T]], asked: object
    ) -> T | None:
        """Return the answer, or None if the question was taken back by the person or is no longer pending."""
        reply: T | None = None
        async with anyio.create_task_group() as tasks:
            self._open = tasks.cancel_scope
            tasks.start_soon(self._watch, waits, tasks.cancel_scope)
            reply = await ask(asked)
            tasks.cancel_scope.cancel()
        self._open = None
        return reply

    async def _watch(self, waits: Callable[[], bool], scope: anyio.CancelScope) -> None:
        """Cancel the question when it is no longer pending. If the log fails, the run reports it."""
        with suppress(AgentrtError):
            async for _ in self._conversation.stream(self._conversation.cursor):
                if not waits():
                    break
        scope.cancel()

    def _waits(self, question: Question) -> bool:
        return any(pending.action.id == question.action.id for pending in self._conversation.pending_confirmation)

    async def _pass_on(self, question: Question, reply: Reply) -> None:
        match reply:
            case Approve(always):
                rule = question.always if always is not None else None
                await self._conversation.confirm(question.action.id, always=always, rule=rule)
            case Refuse(reason):
                await self._conversation.reject(reason, question.action.id)
            case Quit():
                self.stopped = True
                await self._conversation.interrupt()
