"""`agentrt list` and `agentrt search`: lists conversations, and finds events in them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import click
import msgspec
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ..events import ExecutionStatus
from ..listing import CRASHED, DAMAGED, Filter, Hit, Row
from ..storage import open_storage
from ..storing import Listing
from .options import store_option
from .wording import clean, count, money

R = TypeVar("R")

_SPACE = re.compile(r"\s+")

WIDE = 100
"""Columns of a terminal from which a conversation is shown on a single line."""

PIPED = 200
"""Columns of a list that is not printed to a terminal."""

STATUSES = (*(status.value for status in ExecutionStatus), CRASHED, DAMAGED)

MANY = 1000
"""Number of logs from which progress of the indexing is shown."""


@click.command(name="list")
@click.option(
    "--limit", "-n", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of conversations."
)
@click.option(
    "--status",
    type=click.Choice(STATUSES),
    default=None,
    help="Only conversations with this status.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one conversation a line, as JSON, with its tags.")
@store_option
def list_(limit: int, status: str | None, as_json: bool, store: str | None) -> None:
    """List conversations, the newest first, each with its title or else its first message."""
    rows = anyio.run(_asked, store, lambda listing: listing.page(limit, wanted=Filter(status)))
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode(row))
        return
    if not rows:
        none = f"no conversation is {status}" if status else "no conversations yet: 'agentrt demo' makes one"
        click.echo(none)
        return
    console = Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=PIPED)
    if console.width < WIDE:
        for row in rows:
            name, status_, calls, cost, title = _cells(row)
            about = "  ".join(filter(None, (status_, count(int(calls), "call") if calls else "", cost)))
            console.print(Text.assemble((name, "cyan"), f"  {about}\n    ", title), no_wrap=True, overflow="ellipsis")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, width in (("id", 36), ("status", 8), ("calls", 5), ("cost", 7)):
        table.add_column(column, no_wrap=True, min_width=width)
    table.add_column("title", ratio=1)  # the one that gives way on a narrow terminal
    for row in rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in _cells(row)))
    console.print(table)


async def _asked(store: str | None, ask: Callable[[Listing], Awaitable[R]]) -> R:
    async with open_storage(store, lazy=True) as storage:
        return await ask(storage.listing)


def _cells(row: Row) -> tuple[str, ...]:
    if row.status == DAMAGED:
        return row.id, row.status, "", "", clean(row.title)
    status = "interrupted by a crash" if row.status == CRASHED else row.status
    return row.id, status, str(row.calls), money(row.cost, row.unpriced), clean(row.title)


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", "-n", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of events.")
@click.option("--newest", is_flag=True, help="Sort by the newest conversations, not by the best matches.")
@click.option("--json", "as_json", is_flag=True, help="Print one event a line, as JSON.")
@store_option
def search(words: tuple[str, ...], limit: int, newest: bool, as_json: bool, store: str | None) -> None:
    """Find the events in which all WORDS occur: messages, actions and their results.

    Quote a phrase to keep it together ('"exit code"', inside the shell's own quotes); end a word with a star to match
    its beginning ('migrat*'). The exit code is 1 if nothing is found. The first search reads every log, later ones only
    what is new.
    """
    with Console(stderr=True).status(Text("searching", "dim")) as status:
        progress = _Progress(status)
        sought = " ".join(words)
        found = anyio.run(
            _asked, store, lambda listing: listing.search(sought, limit, newest=newest, progress=progress)
        )
    if not found:
        click.echo("nothing found", err=True)
        sys.exit(1)
    console = Console()
    for hit in found:
        if as_json:
            click.echo(msgspec.json.encode(hit))
        else:
            console.print(_told(hit), soft_wrap=True)


class _Progress:
    """Shows the progress of the indexing if it takes a while."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def __call__(self, done: int, of: int) -> None:
        if of >= MANY:
            self._status.update(Text(f"reading the logs: {done:,} of {of:,}", "dim"))


def _told(hit: Hit) -> Text:
    """Return the place of a hit and, on a separate line, its text."""
    told = Text.assemble((hit.conversation, "cyan"), f"  {hit.seq}  ", (hit.kind, "blue"), "\n  ")
    end = 0
    for start, stop in hit.matches:
        told.append(_line(hit.text[end:start]))
        told.append(_line(hit.text[start:stop]), "bold yellow")
        end = stop
    return told.append(_line(hit.text[end:]))


def _line(text: str) -> str:
    return clean(_SPACE.sub(" ", text))
