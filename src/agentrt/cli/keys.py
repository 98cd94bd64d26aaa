"""`agentrt keys`: the API keys of a server and its store."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import anyio
import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import ConfigurationError
from ..storage import open_storage
from .options import store_option

if TYPE_CHECKING:
    from ..server.auth.keyring import Keyring
    from ..server.auth.keys import ApiKey

R = TypeVar("R")

SCOPES = ("observe", "steer", "execute", "approve", "admin")


@click.group()
def keys() -> None:
    """Make, list and revoke the API keys of a server.

    After the first key is made for a store, `agentrt serve` requires one from every client. The store keeps only a hash
    of each key. A running server accepts a new key at once. Within a second of a revocation it closes everything that
    was opened with the key.

    \b
    agentrt keys create --owner ada --scope observe --scope steer --expires 90
    agentrt keys revoke 1f0c9a2b7d3e
    """


@keys.command()
@click.option(
    "--owner",
    required=True,
    metavar="NAME",
    help="The key's owner: it sees the owner's conversations, and the conversations that it begins are the owner's.",
)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    required=True,
    help="observe: read and follow. steer: begin conversations, send messages, run, interrupt, fork. approve: answer"
    " what waits for a person, and change when a person is asked. admin: all of this, for every owner. May be"
    " repeated.",
)
@click.option(
    "--expires",
    type=click.FloatRange(0, min_open=True),
    metavar="DAYS",
    help="Days until the key expires. Default: never.",
)
@store_option
def create(owner: str, scopes: tuple[str, ...], expires: float | None, store: str | None) -> None:
    """Make a key and print it. This is the only time that it is shown."""
    from ..server.principals import Scope  # heavy

    text = anyio.run(_asked, store, lambda keyring: keyring.create(owner, [Scope(scope) for scope in scopes], expires))
    click.echo(text)
    click.echo("It is shown only now. It is sent as 'Authorization: Bearer KEY', never in a URL.", err=True)


@keys.command(name="list")
@store_option
def list_(store: str | None) -> None:
    """List the keys without their secrets, including revoked ones."""
    held = anyio.run(_asked, store, _held)
    if not held:
        click.echo("no keys yet: 'agentrt keys create --owner NAME --scope steer' makes one")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("id", "owner", "scopes", "created", "expires", "state"):
        table.add_column(column, overflow="fold")
    now = time.time()
    for key in held.values():
        table.add_row(*map(Text, _row(key, now)))
    Console().print(table)


@keys.command()
@click.argument("key_id", metavar="ID")
@store_option
def revoke(key_id: str, store: str | None) -> None:
    """Revoke the key with this ID."""
    anyio.run(_asked, store, lambda keyring: keyring.revoke(key_id))
    click.echo(f"revoked {key_id}")


async def _asked(store: str | None, ask: Callable[[Keyring], Awaitable[R]]) -> R:
    try:
        from ..server.auth.keyring import Keyring  # heavy, and an extra
    except ModuleNotFoundError as error:
        raise ConfigurationError("keys are for a server, which is an extra: pip install 'agentrt[server]'") from error
    async with open_storage(store, lazy=True) as storage:
        return await ask(Keyring(storage.shelf))


async def _held(keyring: Keyring) -> Mapping[str, ApiKey]:
    await keyring.look()
    return keyring.keys


def _row(key: ApiKey, now: float) -> tuple[str, ...]:
    state = "good" if key.is_good(now) else "revoked" if key.revoked is not None else "expired"
    return key.id, key.owner, " ".join(key.scopes), _day(key.created), _day(key.expires), state


def _day(seconds: float | None) -> str:
    return "never" if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()
