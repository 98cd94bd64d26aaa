"""Consent to programs from projects and plugins: a person is asked at the terminal before any of them runs."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ..conversation import Conversation
from .asking import typed
from .context import offered
from .notes import note
from .wording import clean


async def offer_consent(conversation: Conversation, console: Console, *, ask: bool, store: str | None = None) -> None:
    """Print what the agent is told and which programs do not run yet; with `ask`, ask whether they may run."""
    state = conversation.state
    if state.context is not None:
        for told in note(state.context, {}):
            console.print(told, soft_wrap=True)
    plugins = state.spec.context.plugins if state.spec.context is not None else ()
    for offer in state.unagreed:
        lines = offered((offer,), plugins, store)
        for shown in lines if not ask else lines[:-1]:
            console.print(shown, soft_wrap=True)
        if not ask or not lines:
            continue
        console.print(Text("  y to have them run from now on, anything else leaves them out > ", "bold yellow"), end="")
        if (await typed() or "").strip().lower() in ("y", "yes"):
            await conversation.agree(offer.digest)
            console.print(Text(f"  the programs of {clean(offer.name)!r} run from now on", "dim"))
