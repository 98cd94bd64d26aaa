"""A run under a person's hands: shown live, asked about what is risky, and interrupted with Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread
from rich.console import Console
from rich.text import Text

from ..conversation import Conversation
from ..errors import AgentrtError
from ..events import ExecutionStatus
from ..state import Pending
from .story import clean, headline, summary
from .views import View

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

NOBODY = "Nobody is there to approve this: do it in a way that needs no approval, or say what you would have done."

Answer = Callable[[Pending], Awaitable[str | None]]
"""Asks about an action: None approves it, a text is the reason for refusing it."""


async def work(conversation: Conversation, view: View, console: Console, answer: Answer) -> int:
    """Run until nothing is due, and give the exit code: 0 finished, 130 interrupted, 1 anything else."""
    begun = time.monotonic()
    failure: AgentrtError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_listen, conversation, tasks.cancel_scope)
        try:
            await _run(conversation, view, answer)
        except AgentrtError as error:
            failure = error
        tasks.cancel_scope.cancel()
    view.rest()
    if failure is not None:
        raise failure
    state = conversation.state
    console.print(summary(state, time.monotonic() - begun), soft_wrap=True)
    if state.status is ExecutionStatus.PAUSED:
        console.print(Text(f"To go on: agentrt resume {conversation.id}", "yellow"))
        return INTERRUPTED
    return 0 if state.status is ExecutionStatus.FINISHED else 1


async def _run(conversation: Conversation, view: View, answer: Answer) -> None:
    after = conversation.cursor
    while True:
        async for item in conversation.run(after).stream():
            view.show(item)
        after = conversation.cursor
        view.rest()
        if conversation.state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
            return
        await _ask(conversation, answer)


async def _listen(conversation: Conversation, run: anyio.CancelScope) -> None:
    """Ctrl-C once interrupts the conversation; twice leaves at once, with the log as it is."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            if conversation.state.status is ExecutionStatus.PAUSED:
                run.cancel()
            else:
                await conversation.interrupt()


async def _ask(conversation: Conversation, answer: Answer) -> None:
    for pending in conversation.pending_confirmation:
        reason = await answer(pending)
        if conversation.state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
            return
        if reason is None:
            await conversation.confirm(pending.action.id)
        else:
            await conversation.reject(reason, pending.action.id)


async def approve(pending: Pending) -> str | None:
    """Approve everything."""
    return None


async def refuse(pending: Pending) -> str | None:
    """Refuse everything, since nobody is there."""
    return NOBODY


def ask_person(console: Console) -> Answer:
    """Ask on the terminal; anything but yes refuses, and is the reason."""

    async def ask(pending: Pending) -> str | None:
        risk = pending.risk.value.lower() if pending.risk else "unrated"
        question = Text.assemble(
            ("? ", "bold yellow"),
            f"{pending.action.tool_name} is rated {risk}: ",
            (clean(headline(pending.action)), "bold"),
        )
        console.print(question)
        console.print(Text("  Run it? y, or the reason why not: ", "yellow"), end="")
        said = (await anyio.to_thread.run_sync(_line, abandon_on_cancel=True)).strip()
        return (
            None
            if said.lower() in ("y", "yes")
            else said
            if said.lower() not in ("", "n", "no")
            else "The user said no."
        )

    return ask


def _line() -> str:
    try:
        return input()
    except EOFError:
        return "no"
