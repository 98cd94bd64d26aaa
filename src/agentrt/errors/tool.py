"""Errors of tools and of their servers."""

from __future__ import annotations

from .base import AgentrtError


class ToolError(AgentrtError):
    """Raised by a tool for an expected failure; its text becomes the model's observation."""


class CallCut(ToolError):
    """Raised when the connection to a tool's server was lost during a call; whether it took effect is unknown."""


class ServerMissing(AgentrtError):
    """Raised when a conversation has no MCP server of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        there = f"known: {', '.join(known)}" if known else "this conversation has none"
        super().__init__(f"unknown MCP server {name!r}; {there}")
