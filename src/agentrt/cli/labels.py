"""`agentrt rename` and `agentrt tag`: the title and the tags of a conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import click

from ..conversation import Conversation
from .finding import Found, find, reopened
from .options import store_option, tags_of
from .wording import clean


@click.command()
@click.argument("conversation")
@click.argument("title")
@store_option
def rename(conversation: str, title: str, store: str | None) -> None:
    """Give a CONVERSATION a TITLE, which `agentrt list` shows instead of its task."""
    if not title.strip():
        raise click.UsageError("the title is empty: give one")
    _with(find(conversation, store), lambda live: live.rename(title))


@click.command()
@click.argument("conversation")
@click.argument("tags", nargs=-1, metavar="[KEY=VALUE]...", callback=tags_of)
@store_option
def tag(conversation: str, tags: dict[str, str], store: str | None) -> None:
    """Add tags to a CONVERSATION, and print all of its tags.

    A tag with the same KEY is replaced; KEY= removes it. Keys consist of lower-case letters and digits.
    """

    async def set_tags(live: Conversation) -> None:
        kept = {key: value for key, value in (live.state.ledger.tags | tags).items() if value}
        if kept != live.state.ledger.tags:
            await live.set_tags(kept)
        for key, value in kept.items():
            click.echo(clean(f"{key}={value}"))

    _with(find(conversation, store), set_tags)


def _with(found: Found, change: Callable[[Conversation], Awaitable[object]]) -> None:
    async def changed() -> None:
        async with reopened(found) as live:
            await change(live)

    anyio.run(changed)
