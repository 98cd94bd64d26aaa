"""`agentrt keys`: who may ask a server that goes by a store."""

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

SCOPES = ("observe", "steer", "approve", "admin")


@click.group()
def keys() -> None:
    """Make, list and revoke the API keys of a server.

    Once a store has had a key, `agentrt serve` lets nobody in without one. Of a key only a hash is kept. A server that
    runs takes a new key at once, and lets go of one that is revoked within a second, with all that was opened with it.

    \b
    agentrt keys create --owner ada --scope observe --scope steer --expires 90
    agentrt keys revoke 1f0c9a2b7d3e
    """


@keys.command()
@click.option("--owner", required=True, metavar="NAME", help="Whose conversations it sees, and who begins them.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    required=True,
    help="observe: read and follow. steer: begin conversations, say something, run, interrupt, fork. approve: answer"
    " what waits for a person, and change who is asked. admin: all of it, of every owner. May be repeated.",
)
@click.option("--expires", type=click.FloatRange(0, min_open=True), metavar="DAYS", help="Default: never.")
@store_option
def create(owner: str, scopes: tuple[str, ...], expires: float | None, store: str | None) -> None:
    """Make a key, and print it. It is shown only now."""
    from ..server.principals import Scope  # heavy

    text = anyio.run(_asked, store, lambda keyring: keyring.create(owner, [Scope(scope) for scope in scopes], expires))
    click.echo(text)
    click.echo("It is shown only now. It is sent as 'Authorization: Bearer KEY', never in a URL.", err=True)


@keys.command(name="list")
@store_option
def list_(store: str | None) -> None:
    """List the keys, without their secrets; those that were revoked as well."""
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
