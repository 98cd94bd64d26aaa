"""`Quota`: limits of a conversation in the process that runs it."""

from __future__ import annotations

from .given import Count, Given, Some
from .tool import Tool

PROCESSES = "max_processes"
"""The parameter of every tool that limits the number of its concurrent processes."""


class Quota(Given, frozen=True, omit_defaults=True):
    """Limits of a conversation in the process that runs it; None: no limit.

    The operator of the process sets it. It is not in the log: the same conversation may have another quota elsewhere.
    """

    events: Count | None = None
    """Events in its log, including those shared with a parent."""
    bytes: Count | None = None
    """Bytes of its log, and of the data stored beside it."""
    processes: Some | None = None
    """Concurrent processes of a tool."""

    def of(self, tool: Tool) -> Tool:
        """Return the tool with this quota applied."""
        if self.processes is None:
            return tool
        given = tool.params.get(PROCESSES)
        most = min(given, self.processes) if isinstance(given, int) else self.processes
        return Tool(tool.name, {**tool.params, PROCESSES: most})
