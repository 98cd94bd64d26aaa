"""`ServerSettings`: how a server runs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..specs import Agent, DockerWorkspace

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a server runs; sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0: one that is free."""
    workspaces: tuple[Path, ...] = ()
    """Directories below which conversations may work; without one in a request, the first gets a new directory."""
    container: DockerWorkspace | None = None
    """Where the commands of new conversations run, each in one of its own; the path is that of the conversation."""
    agent: Agent | None = None
    """What a conversation has that is begun without an agent of its own."""
    max_body: int = 8 * 1024 * 1024
    max_upload: int = 256 * 1024 * 1024
    heartbeat: float = 10.0
    """Silence on a socket after which a heartbeat is sent."""
    patience: float = 30.0
    """How long a client may be without progress."""
    max_streams: int = 10_000
    """Sockets and server-sent events that are open at once."""
    allow_hosts: tuple[str, ...] = ()
    """Names as which it answers besides its address and loopback's: "agents.example.org", "*.example.org"."""
    cors: tuple[str, ...] = ()
    """Origins of other pages that may use it: "https://console.example.org"."""
    rate: str | None = "6000/minute"
    """How often each key may ask, or each address without one; None: as often as it likes."""
    failed_logins: str | None = "30/minute"
    """How often each address may show a key that is not good."""
    max_requests: int = 256
    """How many requests of a key, or an address without one, are answered at once."""
    max_sockets: int = 256
    """How many sockets and event streams a key, or an address without one, may have open at once."""
    drain: float = 10.0
    """How long running steps may take to end when the server is told to."""
    resume_running: bool = False
    """Whether what was running when the last process ended goes on."""
    forget_after: float = 600.0
    """After how long a conversation that sleeps, and that nobody follows or asks for, has no place in memory."""
    own_process: bool = False
    """Whether the process is this server's alone: then it collects garbage as suits a server."""
    traces: str | None = None
    """Where OpenTelemetry traces go, by OTLP over HTTP: "http://localhost:4318"; None: what the environment says."""
