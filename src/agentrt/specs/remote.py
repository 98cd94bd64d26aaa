"""`RemoteWorkspace`: a workspace on a server."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from ..errors import ConfigurationError
from .given import Amount, Given, Seconds


class RemoteWorkspace(Given, frozen=True):
    """A directory on a server, which runs the conversations; times are in seconds.

    `api_key` is a key, or the token of a server without keys; `url` may be the address with a token that a server
    shows. `path` is a directory below those that the server allows; None: a new one. After `timeout` without data, a
    connection counts as lost and a request as failed. After `give_up` without a connection, clients that follow a
    conversation get `ServerUnreachable`. Raises `ConfigurationError` for an invalid URL.
    """

    url: str
    api_key: str | None = None
    path: str | None = None
    timeout: Seconds = 30.0
    give_up: Amount = 600.0

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        parts = urlsplit(self.url)
        if parts.fragment.startswith("token="):  # the address that a server shows
            if self.api_key is None:
                msgspec.structs.force_setattr(self, "api_key", parts.fragment.removeprefix("token="))
            parts = parts._replace(fragment="")
            msgspec.structs.force_setattr(self, "url", urlunsplit(parts))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigurationError(
                f"{self.url.partition('#')[0]!r} is not an address of a server: give one like 'https://host:8000'"
            )
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(f"the URL at {parts.hostname} has a user or a password in it: give an api_key")
        msgspec.structs.force_setattr(self, "url", self.url.rstrip("/"))

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        key = [("api_key", "<hidden>")] if self.api_key is not None else []
        path = [("path", self.path)] if self.path is not None else []
        return [("url", self.url), *key, *path]

    def __repr__(self) -> str:
        return f"RemoteWorkspace({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"
