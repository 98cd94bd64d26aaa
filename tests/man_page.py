"""The manual page agentrt(1), made from the commands: `python -m tests.man_page > docs/agentrt.1` writes it anew.

It has the words of `--help`, in the macros of man(7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from agentrt.cli.main import commands

HELP = "Show this message and exit."
"""What click says of the option that says this."""

_CODE = re.compile(r"`([^`\n]+)`")


def page() -> str:
    """The page, as roff."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root = click.Context(commands, info_name="agentrt", max_content_width=100)
    yield '.\\" Made from the commands by: python -m tests.man_page'
    yield '.TH AGENTRT 1 "" "agentrt" "User Commands"'
    yield ".SH NAME"
    yield r"agentrt \- run software agents"
    yield ".SH SYNOPSIS"
    yield ".B agentrt"
    yield ".I COMMAND"
    yield "[OPTIONS] [ARGUMENTS]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(commands.help or "")
    yield ".SH COMMANDS"
    yield from _described(commands, root)
    yield ".SH ENVIRONMENT"
    yield from _term(r"\fBAGENTRT_HOME\fR", "The directory of the store, in place of ~/.agentrt.")
    yield from _term(r"\fBPROVIDER_API_KEY\fR", "The key of a provider, such as ANTHROPIC_API_KEY or OPENAI_API_KEY.")
    yield ".SH EXIT STATUS"
    yield "0: done. 1: the run ended without success. 2: an error that the message explains. 130: Ctrl-C."


def _described(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.commands[name]
        if command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group) and not command.invoke_without_command:
            yield from _described(command, inner)
            continue
        yield f".SS {_escaped(inner.command_path)}"
        yield ".PP"
        yield rf"\fB{_escaped(inner.command_path)}\fR {_escaped(' '.join(command.collect_usage_pieces(inner)))}"
        yield from _paragraphs(command.help or "")
        for parameter in command.get_params(inner):
            record = parameter.get_help_record(inner)
            if record is not None and record[1] and record[1] != HELP:
                yield from _term(rf"\fB{_escaped(record[0])}\fR", record[1])
        if isinstance(command, click.Group):
            yield from _described(command, inner)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those behind a line with a backspace keep their lines."""
    stripped = "\n".join(map(str.strip, text.splitlines()))
    for part in filter(None, (found.strip("\n") for found in re.split(r"\n{2,}", stripped))):
        lines = part.splitlines()
        if lines[0] == "\b":
            yield from (".PP", ".nf", *map(_escaped, lines[1:]), ".fi")
        else:
            yield from (".PP", _escaped(" ".join(lines)))


def _term(term: str, text: str) -> Iterator[str]:
    yield from (".TP", term, _escaped(" ".join(text.split())))


def _escaped(text: str) -> str:
    """The text in roff; what stands in backquotes is bold."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = _CODE.sub(r"\\fB\1\\fR", text)
    return rf"\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    print(page(), end="")
