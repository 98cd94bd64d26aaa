"""`agentrt fork` and `agentrt delete`."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import click

from ..conversation import Conversation
from ..errors import LogCorrupt
from ..events import Cursor
from ..runtime import Runtime
from ..state import seq_of
from .finding import find, place
from .options import store_option


@click.command()
@click.argument("conversation", required=False)
@click.option("--at", type=place, default=None, help="The last event to share. Default: the newest event.")
@click.option(
    "--files", is_flag=True, help="Work in a copy of the workspace as it was at that event, beside the workspace."
)
@click.option("--to", type=click.Path(path_type=Path), default=None, help="The new directory for that copy.")
@store_option
def fork(conversation: str | None, at: Cursor | None, files: bool, to: Path | None, store: str | None) -> None:
    """Begin a new conversation that shares a CONVERSATION's events up to --at. Prints its id; resume it to continue."""
    found = find(conversation, store)

    async def begin() -> str:
        async with Runtime(found.store) as runtime:
            if files or to is not None:
                async with Conversation(id=found.id, runtime=runtime) as whole:
                    return (await whole.fork(at, files=to or True)).id
            history = runtime.store.history(found.id)
            try:
                state = await history.state()
            except LogCorrupt:
                if at is None:
                    raise
                state = await history.state(at.seq)  # what comes after it may be damaged
            return await runtime.fork(found.id, state.seq if at is None else seq_of(at, state))

    click.echo(anyio.run(begin))


@click.command()
@click.argument("conversation")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
def delete(conversation: str, yes: bool, store: str | None) -> None:
    """Delete a CONVERSATION. What forks share with it stays on disk until the last fork is deleted."""
    found = find(conversation, store)
    if not yes and not sys.stdin.isatty():
        raise click.UsageError(
            f"this is not a terminal, so you cannot be asked whether to delete {found.id}: confirm with --yes"
        )
    if not yes:
        click.confirm(f"delete conversation {found.id}?", abort=True)

    async def end() -> None:
        async with Runtime(found.store) as runtime:
            await runtime.consolidations.delete(found.id)

    anyio.run(end)
