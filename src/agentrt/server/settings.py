"""`ServerSettings`: how a server runs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..specs import Agent

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a server runs; sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0: one that is free."""
    workspaces: tuple[Path, ...] = ()
    """Directories below which conversations may work; without one in a request, the first gets a new directory."""
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
    drain: float = 10.0
    """How long running steps may take to end when the server is told to."""
    resume_running: bool = False
    """Whether what was running when the last process ended goes on."""
