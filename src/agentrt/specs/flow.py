"""Information flow: which content nobody vouches for, and where what it causes must not go unasked."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .given import Given

Label: TypeAlias = Literal["web", "mcp", "outside"]
"""Where untrusted content came from: a network, an MCP server, a file outside of the workspace."""

Sink: TypeAlias = Literal["network", "secrets", "push", "outside"]
"""Where an action's effect leaves the workspace: a network, a secret that is read or used, something published, a file
written outside of it."""


class InformationFlow(Given, frozen=True, tag=True, omit_defaults=True):
    """An action asks a person when the model saw content with one of `labels` before, and it reaches one of `sinks`."""

    labels: tuple[Label, ...] = ("web", "mcp", "outside")
    sinks: tuple[Sink, ...] = ("network", "secrets", "push", "outside")
