"""Information flow: untrusted content, and the effects that need confirmation if it may have caused them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .given import Given

Label: TypeAlias = Literal["web", "mcp", "outside"]
"""The source of untrusted content: a network, an MCP server, or a file outside the workspace."""

Sink: TypeAlias = Literal["network", "secrets", "push", "outside"]
"""The way in which an action affects something outside the workspace: a network, a secret that is read or used,
something published, or a file written outside.
"""


class InformationFlow(Given, frozen=True, tag=True, omit_defaults=True):
    """Actions need confirmation if they reach one of `sinks` after the model saw content with one of `labels`."""

    labels: tuple[Label, ...] = ("web", "mcp", "outside")
    sinks: tuple[Sink, ...] = ("network", "secrets", "push", "outside")
