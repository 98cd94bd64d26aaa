"""A run at the terminal: shown live, with questions about risky actions, and interrupted with Ctrl-C."""

from __future__ import annotations

import signal
import time

import anyio
from anyio.abc import TaskStatus
from rich.console import Console
from rich.text import Text

from ..conversation import Conversation
from ..errors import AgentrtError
from ..events import ChildWaiting, ConfirmationRequested, ExecutionStatus, InputRequested
from ..state import State
from ..storing import Storage
from .answering import Answering
from .asking import Answer
from .entry import INTERRUPTED
from .forms import Fill, decline
from .story import summary
from .views import View


async def work(
    conversation: Conversation,
    view: View,
    console: Console,
    answer: Answer,
    store: Storage,
    fill: Fill = decline,
    *,
    resumes: bool = True,
) -> int:
    """Run until there is nothing left to do, and return the exit code: 0 finished, 130 interrupted, 1 otherwise.

    `store` has the logs of the conversations that it delegated to. `resumes` says whether the conversation can go on
    later, which is told then. Raises the errors of the run.
    """
    begun, session = time.monotonic(), _Session(conversation, view, answer, store, fill)
    async with anyio.create_task_group() as tasks:
        await tasks.start(session.listen, tasks.cancel_scope)
        try:
            await session.run()
        except AgentrtError as error:
            session.failure = error
        tasks.cancel_scope.cancel()
    view.rest()
    if session.failure is not None:
        raise session.failure
    state = conversation.state
    console.print(summary(state, time.monotonic() - begun), soft_wrap=True)
    if state.status is ExecutionStatus.FINISHED:
        return 0
    interrupted = session.interrupted or state.status is ExecutionStatus.PAUSED
    if resumes and (more := _to_go_on(state, interrupted=interrupted)) is not None:
        console.print(Text(f"To go on: agentrt resume {conversation.id}{more}", "yellow"), soft_wrap=True)
    return INTERRUPTED if interrupted else 1


_TO_GO_ON = {"max_cost": " --grant USD", "max_tokens": " --max-tokens N", "max_steps": "", "max_seconds": ""}
"""The option that `agentrt resume ID` needs after a limit was reached, by limit."""


def _to_go_on(state: State, *, interrupted: bool) -> str | None:
    """Return the option that `agentrt resume ID` needs in addition, or None if resuming would change nothing."""
    if interrupted or state.status is ExecutionStatus.STUCK:
        return ""
    ended = state.error.code if state.status is ExecutionStatus.ERROR and state.error else None
    return _TO_GO_ON.get(ended or "")


class _Session:
    """The state that a run shares with the person who may interrupt it."""

    def __init__(self, conversation: Conversation, view: View, answer: Answer, store: Storage, fill: Fill) -> None:
        self._conversation, self._view = conversation, view
        self._answering = Answering(conversation, store, answer, fill)
        self.failure: AgentrtError | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the person has asked the run to stop."""
        return self._answering.stopped

    async def run(self) -> None:
        """Show the events, and ask the pending questions; a question delays only what waits for its answer."""
        after = self._conversation.cursor
        self._view.begin(self._conversation.state.tools)
        while not self.interrupted:
            async for item in self._conversation.run(after).stream():
                self._view.show(item)
                if isinstance(item, ConfirmationRequested | ChildWaiting | InputRequested):
                    await self._ask()
            after = self._conversation.cursor
            self._view.rest()
            if not (self._conversation.pending_confirmation or self._conversation.pending_inputs):
                return
            await self._ask()
        async for event in self._conversation.events(after):
            self._view.show(event)

    async def listen(self, run: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
        """Handle Ctrl-C: once interrupts the conversation and all below it; twice exits at once and leaves the log as
        it is.
        """
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for _ in signals:
                again = self.interrupted or not self._conversation.state.status.at_work
                self._answering.stopped = True
                try:
                    if again:
                        run.cancel()
                    elif not self._answering.take_back():
                        await self._conversation.interrupt()
                except AgentrtError as error:
                    self.failure = error
                    run.cancel()

    async def _ask(self) -> None:
        self._view.rest()
        await self._answering.ask()
