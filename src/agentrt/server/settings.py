"""`ServerSettings`: how a server runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from limits import RateLimitItem, parse
from msgspec import Meta

from ..errors import ConfigurationError
from ..specs import Agent, DockerWorkspace
from ..specs.given import Amount, Count, Given, Seconds, Some

HIGHEST_PORT = 65535

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ServerSettings(Given, frozen=True, kw_only=True):
    """How a server runs; sizes in bytes, times in seconds. Raises `ConfigurationError` for what cannot be."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=HIGHEST_PORT)] = 8000
    """0: one that is free."""
    token: str | None = None
    """What a client shows where the store has no keys. None: it is made at each start, as `app.state.access.token`."""
    workspaces: tuple[Path, ...] = ()
    """Directories below which conversations may work; without one in a request, the first gets a new directory."""
    container: DockerWorkspace | None = None
    """Where the commands of new conversations run, each in one of its own; the path is that of the conversation."""
    agent: Agent | None = None
    """What a conversation has that is begun without an agent of its own."""
    max_body: Some = 8 * 1024 * 1024
    max_upload: Some = 256 * 1024 * 1024
    heartbeat: Seconds = 10.0
    """Silence on a socket after which a heartbeat is sent."""
    patience: Seconds = 30.0
    """How long a client may be without progress."""
    max_streams: Count = 10_000
    """Sockets and server-sent events that are open at once."""
    allow_hosts: tuple[str, ...] = ()
    """Names as which it answers besides its address and loopback's: "agents.example.org", "*.example.org"."""
    cors: tuple[str, ...] = ()
    """Origins of other pages that may use it: "https://console.example.org"."""
    rate: str | None = "6000/minute"
    """How often each key may ask, or each address without one; None: as often as it likes."""
    failed_logins: str | None = "30/minute"
    """How often each address may show a key that is not good."""
    max_requests: Some = 256
    """How many requests of a key, or an address without one, are answered at once."""
    max_sockets: Some = 256
    """How many sockets and event streams a key, or an address without one, may have open at once."""
    drain: Amount = 10.0
    """How long running steps may take to end when the server is told to."""
    resume_running: bool = False
    """Whether what was running when the last process ended goes on."""
    forget_after: Amount = 600.0
    """After how long a conversation that sleeps, and that nobody follows or asks for, has no place in memory."""
    own_process: bool = False
    """Whether the process is this server's alone: then it collects garbage as suits a server."""
    http2: bool = False
    """Whether HTTP/2 is taken, too, without TLS: for a proxy on this machine that speaks it."""
    traces: str | None = None
    """Where OpenTelemetry traces go, by OTLP over HTTP: "http://localhost:4318"; None: what the environment says."""

    def __post_init__(self) -> None:
        if isinstance(self.workspaces, str | Path):
            msgspec.structs.force_setattr(self, "workspaces", (self.workspaces,))
        Given.__post_init__(self)
        for name in ("rate", "failed_logins"):
            rate_of(getattr(self, name), name)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        hidden = {"token": "<hidden>"} if self.token is not None else {}
        return f"ServerSettings({', '.join(f'{name}={value!r}' for name, value in (shown | hidden).items())})"


def rate_of(written: str | None, name: str) -> RateLimitItem | None:
    """A rate such as "600/minute"; None is no limit. Raises `ConfigurationError` for another form."""
    try:
        return parse(written) if written is not None else None
    except ValueError as error:
        raise ConfigurationError(
            f"ServerSettings({name}=...): {written!r} is no rate: write it as '600/minute', or None for no limit"
        ) from error
