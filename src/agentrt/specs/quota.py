"""`Quota`: what a conversation may take of the process that runs it."""

from __future__ import annotations

from .given import Count, Given, Some
from .tool import Tool

PROCESSES = "max_processes"
"""The parameter of every tool that says how many processes it may have at once."""


class Quota(Given, frozen=True, omit_defaults=True):
    """What a conversation may take of the process that runs it; None: no limit.

    It belongs to who runs the process, and is in no log: the same conversation may have more of it elsewhere.
    """

    events: Count | None = None
    """Events in its log, with those that it shares with a parent."""
    bytes: Count | None = None
    """Bytes of its log, and of what is kept beside it."""
    processes: Some | None = None
    """Processes that a tool has at once."""

    def of(self, tool: Tool) -> Tool:
        """The tool, within this."""
        if self.processes is None:
            return tool
        given = tool.params.get(PROCESSES)
        most = min(given, self.processes) if isinstance(given, int) else self.processes
        return Tool(tool.name, {**tool.params, PROCESSES: most})
