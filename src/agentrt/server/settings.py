"""`ServerSettings`: the settings of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from limits import RateLimitItem, parse
from msgspec import Meta

from ..errors import ConfigurationError
from ..specs import Agent, DockerWorkspace
from ..specs.given import Amount, Count, Given, Seconds, Some
from ..specs.workspace import Confine

HIGHEST_PORT = 65535

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ServerSettings(Given, frozen=True, kw_only=True):
    """The settings of a server; sizes in bytes, times in seconds. Raises `ConfigurationError` for invalid values."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=HIGHEST_PORT)] = 8000
    """The port; 0: any free port."""
    token: str | None = None
    """The token for clients if the store has no keys. None: made at each start, as `app.state.access.token`."""
    workspaces: tuple[Path, ...] = ()
    """Directories below which conversations may work; if a request names none, the first gets a new directory."""
    compat: Literal["openhands"] | None = None
    """Whose paths under `/api` are there, too: those of the OpenHands agent server for commands, files and git."""
    container: DockerWorkspace | None = None
    """The container for the commands of new conversations, one for each; its path is that of the conversation."""
    confine: Confine = "auto"
    """Whether the system confines the commands of new conversations on this machine, as in `LocalWorkspace`."""
    agent: Agent | None = None
    """The agent of a conversation that is begun without its own."""
    max_body: Some = 8 * 1024 * 1024
    max_upload: Some = 256 * 1024 * 1024
    heartbeat: Seconds = 10.0
    """Silence on a socket after which a heartbeat is sent."""
    patience: Seconds = 30.0
    """How long a client may make no progress."""
    max_streams: Count = 10_000
    """Maximum number of open sockets and server-sent event streams."""
    allow_hosts: tuple[str, ...] = ()
    """Accepted host names besides its address and loopback's: "agents.example.org", "*.example.org"."""
    cors: tuple[str, ...] = ()
    """Origins of other pages that may use the server: "https://console.example.org"."""
    rate: str | None = "6000/minute"
    """Request limit for each key, or each address without a key; None: no limit."""
    failed_logins: str | None = "30/minute"
    """Limit of requests with an invalid key for each address."""
    max_requests: Some = 256
    """Maximum number of concurrent requests for each key, or each address without a key."""
    max_sockets: Some = 256
    """Maximum number of open sockets and event streams for each key, or each address without a key."""
    keep_alive: Seconds = 75.0
    """How long a connection without a request stays open: longer than a proxy in front keeps it, or the proxy may send
    a request into a connection that is being closed.
    """
    backlog: Some = 2048
    """Maximum number of connections that wait to be accepted; the kernel has its own limit (net.core.somaxconn)."""
    drain: Amount = 10.0
    """How long running steps may take to end when the server is told to stop."""
    titles: bool = False
    """Whether a new conversation without a title gets one from its model, once its agent has replied. The cost of that
    short call is the conversation's.
    """
    resume_running: bool = False
    """Whether to continue what was running when the last process ended."""
    forget_after: Amount = 600.0
    """Time after which a sleeping conversation without followers or requests is removed from memory."""
    own_process: bool = False
    """Whether the process belongs to this server alone: then garbage collection is tuned for a server."""
    http2: bool = False
    """Whether to accept HTTP/2 without TLS as well: for a proxy on this machine that uses it."""
    traces: str | None = None
    """The address for OpenTelemetry traces, by OTLP over HTTP: "http://localhost:4318"; None: the environment's
    setting.
    """

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
    """Return a rate such as "600/minute"; None is no limit. Raises `ConfigurationError` for another form."""
    try:
        return parse(written) if written is not None else None
    except ValueError as error:
        raise ConfigurationError(
            f"ServerSettings({name}=...): {written!r} is not a rate: write it as '600/minute', or None for no limit"
        ) from error
