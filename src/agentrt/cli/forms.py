"""Forms: the input that a tool asks a person for, filled in on the terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec
from rich.console import Console
from rich.text import Text

from ..events import InputRequested, InputVerdict
from .asking import typed
from .wording import clean

Filled: TypeAlias = tuple[InputVerdict, dict[str, Any]]
Fill: TypeAlias = Callable[[InputRequested], Awaitable[Filled]]
"""Answers a tool's request for input."""
Line: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Reads the line that a person types at a prompt; None at the end of input."""


async def decline(asked: InputRequested) -> Filled:
    """Decline the request, since there is no person at the terminal."""
    return "decline", {}


def fill_in(console: Console, line: Line | None = None) -> Fill:
    """Ask on the terminal, one line for each member of the form; an empty line takes the default in brackets.

    `line` reads a line for a prompt; None: from the terminal.
    """
    line = line or line_of(console)

    async def fill(asked: InputRequested) -> Filled:
        console.print(Text.assemble(("? ", "bold yellow"), f"{clean(asked.asks)} asks: {clean(asked.message)}"))
        if asked.url:
            console.print(Text(f"  {clean(asked.url)}", "underline"), soft_wrap=True)
            return await _yes_or_no(line, "open it in a browser, then y; n: no")
        form = msgspec.json.decode(asked.schema, type=_Form)
        if not form.properties:
            return await _yes_or_no(line, "y: yes, anything else: no")
        console.print(Text("  Ctrl-D: no", "dim"))
        found: dict[str, Any] = {}
        for name, member in form.properties.items():
            while True:
                said = await line(prompt_of(name, member, required=name in form.required))
                if said is None:
                    return "decline", {}
                try:
                    value = value_of(said, member)
                except ValueError as error:
                    console.print(Text(f"  {error}", "yellow"))
                    continue
                if value is None and name in form.required:
                    console.print(Text("  this is needed", "yellow"))
                    continue
                if value is not None:
                    found[name] = value
                break
        return "accept", found

    return fill


class _Form(msgspec.Struct):
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []


def prompt_of(name: str, member: dict[str, Any], *, required: bool) -> str:
    """Return the prompt for a member."""
    words = [clean(str(member.get("title") or name))]
    if member.get("description"):
        words.append(f"({clean(str(member['description']))})")
    if choices := choices_of(member):
        words.append(f"one of {', '.join(choices)}")
    elif member.get("type") == "boolean":
        words.append("y or n")
    if "default" in member:
        words.append(f"[{clean(str(member['default']))}]")
    elif not required:
        words.append("[nothing]")
    return " ".join(words)


def choices_of(member: dict[str, Any]) -> list[str]:
    """Return the values that a member may have; empty if any value is allowed."""
    named = [one.get("const") for one in member.get("oneOf", []) if isinstance(one, dict)]
    return [clean(str(value)) for value in (*member.get("enum", ()), *named) if value is not None]


def value_of(said: str, member: dict[str, Any]) -> Any:
    """Return the value of a line, or None for an empty line without a default. Raises `ValueError` for an invalid
    value.
    """
    said = said.strip()
    if not said:
        return member.get("default")
    choices = choices_of(member)
    if choices and said not in choices:
        raise ValueError(f"give one of {', '.join(choices)}")
    match member.get("type"):
        case "boolean":
            if said.lower() not in ("y", "yes", "true", "n", "no", "false"):
                raise ValueError("give y or n")
            return said.lower() in ("y", "yes", "true")
        case "integer":
            return int(said)
        case "number":
            return float(said)
        case "array":
            return [part.strip() for part in said.split(",")]
        case _:
            return said


async def _yes_or_no(line: Line, prompt: str) -> Filled:
    said = await line(prompt)
    return ("accept" if (said or "").strip().lower() in ("y", "yes") else "decline"), {}


def line_of(console: Console) -> Line:
    """Return a reader of lines from the terminal."""

    async def line(prompt: str) -> str | None:
        console.print(Text(f"  {prompt} > ", "bold yellow"), end="")
        said = await typed()
        if said is None:
            console.print()
        return said

    return line
