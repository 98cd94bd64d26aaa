"""The owner and the store of the MCP server logins that a command works on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from ..mcp.tokens import Tokens, tokens_of
from ..secrets import Cipher, KeyFile, StoreKey
from ..storage import default_store, open_storage
from .options import store_option

F = TypeVar("F", bound=Callable[..., Any])


class Whose(msgspec.Struct, frozen=True):
    """An owner in a store, and the key that encrypts the tokens (None: the key in the user's key file)."""

    store: str
    owner: str | None
    key: Path | None

    @asynccontextmanager
    async def tokens(self) -> AsyncIterator[Tokens]:
        """Return the token store."""
        async with open_storage(self.store, lazy=True) as storage:
            yield tokens_of(storage.shelf, StoreKey(cipher_of(self.key), Path.home()))(self.owner)


def cipher_of(key: Path | None) -> Cipher | None:
    """Return the cipher of a key file. Raises `ConfigurationError` for an invalid key."""
    return KeyFile(key).read() if key is not None else None


def tokens_options(command: F) -> F:
    """Add the options that select the tokens, as one parameter `whose`."""

    @store_option
    @click.option(
        "--secrets-key",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The key file that the tokens are encrypted with: that of `agentrt serve`, if it has one. Default: your"
        " own, in ~/.config/agentrt/secrets.key.",
    )
    @click.option(
        "--owner", default=None, metavar="NAME", help="The owner of the tokens, in the store of a server with API keys."
    )
    @wraps(command)
    def made(*args: Any, store: str | None, secrets_key: Path | None, owner: str | None, **rest: Any) -> Any:
        return command(*args, whose=Whose(str(store or default_store()), owner, secrets_key), **rest)

    return made  # type: ignore[return-value]
