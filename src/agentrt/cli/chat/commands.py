"""The commands of a chat in one table, from which help, completion and parsing are derived. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TypeAlias

import msgspec


class Command(msgspec.Struct, frozen=True):
    """A command. `argument` is what follows its name: "" for nothing, in brackets if it is optional."""

    name: str
    argument: str
    does: str
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """How the command is typed."""
        return f"/{self.name} {self.argument}".strip()


COMMANDS = (
    Command("help", "", "show the commands and the keys"),
    Command("model", "[NAME]", "show the model, or go on with another one: a name, or a saved profile"),
    Command("cost", "", "show what was spent"),
    Command("context", "", "show what fills the model's context window"),
    Command("compact", "", "summarize the older part", ("condense",)),
    Command("plan", "", "show the agent's plan"),
    Command("diff", "[PATH]", "show what changed in the workspace in this conversation"),
    Command("undo", "", "take back your last message and what came of it, files too"),
    Command("rewind", "N", "take back your last N messages and what came of them, files too"),
    Command("fork", "[TITLE]", "go on in a new conversation that shares all of this one; this one stays as it is"),
    Command("ask", "QUESTION", "ask something besides the task; it leaves no trace in the conversation"),
    Command("goal", "[TEXT]", "hold the agent to a goal, which a judge checks; off takes it back"),
    Command("title", "[TEXT]", "show the title, or set it", ("rename",)),
    Command("confirm", "[risky|always|never]", "show or set which actions wait for your answer"),
    Command("rules", "[allow|ask|deny PATTERN | remove N]", "list, add or remove the rules of this conversation"),
    Command("grant", "USD", "let it spend more than its --max-cost"),
    Command("mcp", "[NAME]", "show the MCP servers, or connect one again"),
    Command("pause", "", "pause after what is running"),
    Command("resume", "", "go on after a pause or an interrupt", ("continue",)),
    Command("clear", "", "begin a new conversation with the same agent", ("new",)),
    Command("quit", "", "leave; the conversation can be resumed", ("exit",)),
)

KEYS = (
    ("Enter", "send; while the agent works it sees the message before its next step"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "begin a new line"),
    ("Esc", "interrupt the agent"),
    ("Ctrl-C", "clear the line, or interrupt the agent; twice: leave"),
    ("Ctrl-D", "leave, on an empty line"),
    ("Up, Down, Ctrl-R", "what you typed before, also in earlier chats"),
    ("Tab", "complete a command or a path"),
    ("@PATH", "attach a file of the workspace, or an image"),
    ("Ctrl-L", "clear the screen"),
)


class Invoked(msgspec.Struct, frozen=True):
    """A command, and the text after its name."""

    command: Command
    argument: str = ""


class Message(msgspec.Struct, frozen=True):
    """A message for the agent."""

    text: str


class Mistyped(msgspec.Struct, frozen=True):
    """Input that is neither a command nor a message, and what is wrong with it."""

    problem: str


Meant: TypeAlias = Invoked | Message | Mistyped

_WORD = re.compile(r"/([a-z][a-z-]*)(?:\s+(.*))?", re.DOTALL)


def meant(text: str, skills: Collection[str] = ()) -> Meant:
    """Return the command or the message that a text means. A text that begins with a skill or a path is a message."""
    text = text.strip()
    match = _WORD.fullmatch(text)
    if match is None:
        return Message(text)
    name, argument = match[1], (match[2] or "").strip()
    command = named(name)
    if command is None:
        if name in skills:
            return Message(text)
        return Mistyped(f"unknown command /{name}: /help lists the commands")
    if not command.argument and argument:
        return Mistyped(f"/{command.name} takes nothing after it")
    if command.argument and not command.argument.startswith("[") and not argument:
        return Mistyped(f"write {command.usage}")
    return Invoked(command, argument)


def named(name: str) -> Command | None:
    """Return the command with a name, without its slash."""
    return next((one for one in COMMANDS if name == one.name or name in one.aliases), None)


def beginning(typed: str) -> tuple[Command, ...]:
    """Return the commands whose names begin with the text after the slash, in the order of the table."""
    return tuple(one for one in COMMANDS if any(name.startswith(typed) for name in (one.name, *one.aliases)))
