"""`agentrt fork` and `agentrt delete`."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import click

from ..events import Cursor
from ..runtime import Runtime
from ..state import fold, seq_of
from ..storage import read_conversation
from .finding import find, place
from .options import store_option


@click.command()
@click.argument("conversation", required=False)
@click.option("--at", type=place, default=None, help="The last event to share. Default: the newest.")
@store_option
def fork(conversation: str | None, at: Cursor | None, store: Path | None) -> None:
    """Begin a new conversation that shares a CONVERSATION's events up to --at. Prints its id; resume it to go on."""
    directory = find(conversation, store)
    state = fold(read_conversation(directory))
    last = state.seq if at is None else seq_of(at, state)

    async def begin() -> str:
        async with Runtime(store or directory.parent.parent) as runtime:
            return await runtime.fork(directory.name, last)

    click.echo(anyio.run(begin))


@click.command()
@click.argument("conversation")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
def delete(conversation: str, yes: bool, store: Path | None) -> None:
    """Delete a CONVERSATION. What forks share with it stays on disk until the last of them is deleted."""
    directory = find(conversation, store)
    if not yes and not sys.stdin.isatty():
        raise click.UsageError(f"nobody can be asked whether to delete {directory.name}: say so with --yes")
    if not yes:
        click.confirm(f"delete conversation {directory.name}?", abort=True)

    async def end() -> None:
        async with Runtime(store or directory.parent.parent) as runtime:
            await runtime.store.delete(directory.name)

    anyio.run(end)
