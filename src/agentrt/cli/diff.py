"""`agentrt diff`: what changed in a conversation's workspace."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import click
import msgspec
from rich.console import Console
from rich.text import Text

from ..events import Cursor
from ..host.kept import kept_files
from ..runtime import Runtime
from ..state import seq_of
from ..workspaces import FileChanges
from .finding import find, place
from .options import store_option
from .story import CHANGED
from .wording import clean

_MARKS = {"added": ("A", "green"), "deleted": ("D", "red"), "modified": ("M", "yellow")}


@click.command()
@click.argument("conversation", required=False)
@click.argument("path", required=False, default="")
@click.option(
    "--at",
    type=place,
    nargs=2,
    metavar="A B",
    help="Two event numbers: show the changes from the files after the first event to the files after the second."
    " Default: from the first stored state to the last.",
)
@click.option("--names", is_flag=True, help="Only print the names of the files, and who changed them.")
@click.option("--json", "as_json", is_flag=True, help="Print the files and who changed them, as JSON.")
@store_option
def diff(
    conversation: str | None, path: str, at: tuple[Cursor, Cursor] | None, names: bool, as_json: bool, store: str | None
) -> None:
    """Show what changed in the workspace of a CONVERSATION between two events: all of it, or only PATH.

    Files are recorded before and after each action of the agent, so changes that people made in between are attributed
    to them.

    \b
    Examples:
      agentrt diff                         all of the newest conversation
      agentrt diff 01a2 --at 12 40         a conversation by the beginning of its id
      agentrt diff 01a2 src --names        the files below src
    """
    found = find(conversation, store)

    async def ask() -> FileChanges | str:
        async with Runtime(found.store) as runtime:
            history = runtime.store.history(found.id)
            state = await history.state()
            since, until = (seq_of(one, state) for one in at) if at else (1, state.seq)
            files = kept_files(runtime.store, await history.created())
            if names or as_json:
                return await files.changes(since, until)
            return (await files.diff(path, since, until)).diff

    told = anyio.run(ask)
    if isinstance(told, str):
        console = Console()
        for line in colored(told):
            console.print(line, soft_wrap=True)
        return
    items = [one for one in told.items if one.path == path or one.path.startswith(f"{path}/" if path else "")]
    if as_json:
        click.echo(msgspec.json.encode(items).decode())
        return
    console = Console()
    for one in items:
        mark, style = _MARKS[one.status]
        console.print(
            Text.assemble((f"{mark} ", style), clean(one.path), (f"  {', '.join(one.by)}", "dim")), soft_wrap=True
        )


def colored(told: str) -> Iterator[Text]:
    """Return the lines of a unified diff, coloured."""
    for line in told.splitlines():
        style = "bold" if line.startswith(("diff ", "+++", "---")) else CHANGED.get(line[:1], "")
        yield Text(clean(line), style)
