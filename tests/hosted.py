"""What a runtime has open, for tests that append events as only its own actors do."""

from __future__ import annotations

from agentrt import Runtime
from agentrt.actors.group import ConversationGroup


def group_in(runtime: Runtime) -> ConversationGroup:
    """The actors of the one conversation that is open."""
    (host,) = runtime.hosts
    assert host.group is not None
    return host.group
