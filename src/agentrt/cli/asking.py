"""Answers to what the agent must ask: a person's at the terminal, or those that stand in for one."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio
import msgspec
from rich.console import Console
from rich.text import Text

from ..specs.rules import Scope
from .permissions import rule_words
from .questions import Question
from .story import RISK
from .wording import clean, headline

NOBODY = "No user is present to approve this: do it in a way that needs no approval, or say what you would have done."
NO = "The user said no."

SHOWN = 4000
"""Characters of an action's arguments that are shown: who decides sees them all, within reason."""

LINE = 4096
"""Bytes of a line that a terminal gives at most."""


class Approve(msgspec.Struct, frozen=True):
    """Run it; `always` also what is the same, from now on, as far as that holds."""

    always: Scope | None = None


class Refuse(msgspec.Struct, frozen=True):
    """Do not run it; the model sees the reason."""

    reason: str


class Quit(msgspec.Struct, frozen=True):
    """Interrupt the run."""


Reply: TypeAlias = Approve | Refuse | Quit
Answer: TypeAlias = Callable[[Question], Awaitable[Reply]]


async def approve(question: Question) -> Reply:
    """Approve everything."""
    return Approve()


async def refuse(question: Question) -> Reply:
    """Refuse everything, since nobody is there."""
    return Refuse(NOBODY)


def ask_person(console: Console) -> Answer:
    """Ask on the terminal, until there is an answer."""

    async def ask(question: Question) -> Reply:
        for line in lines_of(question):
            console.print(line, soft_wrap=True)
        while True:
            _forget_typed()
            console.print(Text("  > ", "bold yellow"), end="")
            said = await typed()
            if said is None:
                console.print()
                return Quit()
            reply = reply_to(said, may_always=question.always is not None)
            if reply is not None:
                return reply
            console.print(_keys(question), soft_wrap=True)

    return ask


def lines_of(question: Question) -> list[Text]:
    """A question as it stands on the terminal."""
    risk, words = question.risk, headline(question.action, question.tool, SHOWN)
    asked = Text.assemble(
        ("? ", "bold yellow"), (clean(question.action.tool_name), "bold blue"), "  ", (clean(words), "bold")
    )
    rated = Text("  ")
    rated.append("unrated" if risk is None else risk.value.lower(), "yellow" if risk is None else RISK[risk])
    rated.append(f": {clean(question.rating)}" if question.rating else "")
    rated.append(f"; asked {clean(question.why)}", "dim")
    lines = [asked, rated]
    if clean(words) != words:
        lines.append(Text("  it has characters that cannot be shown", "yellow"))
    if question.task:
        lines.append(Text(f"  in the delegated task: {clean(question.task)}", "dim"))
    if question.always is not None:
        lines.append(Text(f"  a and p remember: {clean(rule_words(question.always))}", "dim"))
    return [*lines, _keys(question)]


def _keys(question: Question) -> Text:
    keys = [("y", "once")]
    if question.always is not None:
        keys += [("a", "always in this conversation"), ("p", "always in this project")]
    keys += [("n", "no, or write why not"), ("q", "stop here")]
    return Text("  ").join(Text.assemble((f"  {key}", "bold yellow"), f" {does}") for key, does in keys)


def reply_to(said: str, *, may_always: bool) -> Reply | None:
    """What a line means; None for one that is no answer. Text that is no key is the reason for refusing."""
    match said.strip().lower():
        case "y" | "yes":
            return Approve()
        case "a" | "always" if may_always:
            return Approve("session")
        case "p" | "project" if may_always:
            return Approve("project")
        case "n" | "no":
            return Refuse(NO)
        case "q" | "quit":
            return Quit()
        case "always" | "project":
            return None
        case short if len(short) < 2:
            return None
        case _:
            return Refuse(said.strip())


def _forget_typed() -> None:
    """What was typed before a question is no answer to it."""
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except termios.error:  # the terminal is gone, which reading will say
        return


async def typed() -> str | None:
    """The next line of the terminal, without a thread that would outlive an interrupt; None at its end."""
    await anyio.wait_readable(sys.stdin.fileno())
    try:
        said = os.read(sys.stdin.fileno(), LINE)
    except OSError:
        return None
    return said.decode(errors="replace") if said else None
