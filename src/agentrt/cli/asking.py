"""Answers to the agent's questions: from a person at the terminal, or from a fixed policy in place of one."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

import anyio
import msgspec
from rich.console import Console
from rich.text import Text

from ..decisions.permissions import leaves
from ..specs.rules import Scope
from .permissions import calls_like
from .questions import Question
from .story import CHANGED, MARGIN, RISK, with_margin
from .wording import clean, headline, proposed

STAYS = (
    "--yes does not cover a command that leaves what confines the others: find a way that works inside, or say what is"
    " missing."
)
"""What the model is told of such a command."""

NOBODY = "No user is present to approve this: do it in a way that needs no approval, or say what you would have done."
NO = "The user said no."

SHOWN = 4000
"""Maximum number of characters of an action's arguments that are shown to the person who decides."""

LINE = 4096
"""Maximum number of bytes in a line that a terminal returns."""


class Approve(msgspec.Struct, frozen=True):
    """Run the action; with `always`, also allow the same from now on, within the scope that `always` names."""

    always: Scope | None = None


class Refuse(msgspec.Struct, frozen=True):
    """Do not run the action; the model sees the reason."""

    reason: str


class Quit(msgspec.Struct, frozen=True):
    """Interrupt the run."""


Reply: TypeAlias = Approve | Refuse | Quit
Answer: TypeAlias = Callable[[Question], Awaitable[Reply]]


async def approve(question: Question) -> Reply:
    """Approve every action, but none that leaves what confines the others."""
    return Refuse(STAYS) if leaves(question.tool, question.action) else Approve()


async def refuse(question: Question) -> Reply:
    """Refuse every action, since there is no person at the terminal."""
    return Refuse(NOBODY)


def ask_person(console: Console) -> Answer:
    """Ask on the terminal until there is an answer."""

    async def ask(question: Question) -> Reply:
        for line in lines_of(question):
            console.print(with_margin(line, console))
        while True:
            _forget_typed()
            console.print(Text("  then Enter > ", "bold yellow"), end="")
            said = await typed()
            if said is None:
                console.print()
                return Quit()
            reply = reply_to(said, may_always=question.always is not None)
            if reply is not None:
                return reply
            for line in explained(question):
                console.print(line)

    return ask


def lines_of(question: Question) -> list[Text]:
    """Return a question as lines for the terminal. The last one names the keys."""
    risk, words = question.risk, headline(question.action, question.tool, SHOWN)
    asked = Text.assemble(
        ("? ", "bold yellow"), (clean(question.action.tool_name), "bold blue"), "  ", (clean(words), "bold")
    )
    change = proposed(question.action, question.tool)
    rated = Text("  ")
    rated.append("unrated" if risk is None else risk.value.lower(), "yellow" if risk is None else RISK[risk])
    rated.append(f": {clean(question.rating)}" if question.rating else "")
    rated.append(f"; asked {clean(question.why)}", "dim")
    lines = [asked, *(Text(f"{MARGIN}{clean(line)}", CHANGED[line[0]]) for line in change), rated]
    if any(clean(shown) != shown for shown in (words, *change)):
        lines.append(Text("  it has characters that cannot be shown", "yellow"))
    if question.task:
        lines.append(Text(f"  in the delegated task: {clean(question.task)}", "dim"))
    if question.always is not None:
        lines.append(Text(f"  a and p stand for {clean(calls_like(question.always))}", "dim"))
    return [*lines, _keys(question)]


_ALWAYS = ("a", "p")
"""The keys that are offered only if a rule would help."""

_ANSWERS = (
    ("y", "once", "run this action once"),
    ("a", "always here", "run it, and do not ask again in this conversation about {like}"),
    (
        "p",
        "always in this project",
        "the same in every conversation of this project; 'agentrt rules' lists such rules and removes them",
    ),
    ("n", "no, or n WHY", "do not run it; the agent goes on, and sees a reason that you write after n"),
    ("q", "stop", "do not run it, and stop; 'agentrt resume' goes on later"),
)
"""The keys, each with its short words and its explanation."""


def _offered(question: Question) -> Iterator[tuple[str, str, str]]:
    """Yield the answers that a question offers."""
    return (answer for answer in _ANSWERS if question.always is not None or answer[0] not in _ALWAYS)


def _keys(question: Question) -> Text:
    return Text("").join(Text.assemble((f"  {key}", "bold yellow"), f" {does}") for key, does, _ in _offered(question))


def reply_to(said: str, *, may_always: bool) -> Reply | None:
    """Return the reply that a line means, or None if it is not an answer. Several words, or words after "n", are the
    reason for a refusal; one word that is no key may be meant otherwise, as "ok" is.
    """
    said = said.strip()
    first, _, reason = said.partition(" ")
    if clean(said) != said or said.startswith("/"):
        return None
    match said.lower():
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
    if first.lower().rstrip(",:;.") in ("n", "no") and reason.strip():
        return Refuse(reason.strip())
    return Refuse(said) if reason and first.lower() not in _KEYS else None


_KEYS = ("y", "yes", "a", "always", "p", "project", "q", "quit")


def explained(question: Question) -> list[Text]:
    """Return what each answer does, for someone who gave none of them; the last line names the keys."""
    like = clean(calls_like(question.always)) if question.always is not None else ""
    lines = [
        Text.assemble((f"  {key}", "bold yellow"), f"  {does.format(like=like)}") for key, _, does in _offered(question)
    ]
    return [Text("  That is no answer. Type one of these letters, and Enter:"), *lines, _keys(question)]


def _forget_typed() -> None:
    """Discard text that was typed before the question, so that it is not taken as an answer."""
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except termios.error:  # the terminal is gone, which reading will say
        return


async def typed() -> str | None:
    """Return the next line of the terminal, or None at its end, without a thread that would outlive an interrupt."""
    await anyio.wait_readable(sys.stdin.fileno())
    try:
        said = os.read(sys.stdin.fileno(), LINE)
    except OSError:
        return None
    return said.decode(errors="replace") if said else None
