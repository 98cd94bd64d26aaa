"""How long a call waits until the workspace's files are kept."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from agentrt.actors.group import Parts
from agentrt.actors.patience import Patience


def waiting(patience: Patience) -> Callable[[Parts], Parts]:
    """What a runtime does with the parts of its conversations so that calls wait that long."""
    return lambda parts: replace(parts, patience=patience)


in_time = waiting(Patience(first=20.0, after=20.0))
"""Has calls wait for the trees before and after them, however busy the machine is."""
