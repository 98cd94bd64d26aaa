"""`Opening`: what one who opens a conversation brings along, and what it is open with when several do. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..errors import ConfigurationError
from ..secrets import SecretRegistry
from ..tools import ToolType


class Opening(msgspec.Struct, frozen=True):
    """What one who opens a conversation brings along."""

    tools: tuple[ToolType, ...] = ()
    """Implementations that the runtime does not have."""
    secrets: SecretRegistry | None = None
    """None: those that its log has."""
    delegates: bool = False
    """Whether it is the conversation that delegates to this one."""


NOTHING = Opening()


def agreed(name: str, comes: Opening, there: Opening, others: Iterable[Opening]) -> Opening:
    """What a conversation is open with from when another one opens it; `there` itself where that changes nothing.

    The conversation that delegates comes first: it is open with the tools and secrets of that one. Then come those who
    bring something; who brings nothing shares what is there. Raises `ConfigurationError` for tools that are not those
    of the `others` who have it open.
    """
    if comes.delegates:
        same = comes.secrets is there.secrets and comes.tools == there.tools
        return there if same else Opening(comes.tools, comes.secrets)
    known = all(tool in there.tools for tool in comes.tools)
    if known and (comes.secrets is None or comes.secrets is there.secrets):
        return there
    if any(other.delegates or (other.tools and not known) for other in others):
        raise ConfigurationError(f"conversation {name!r} is open here with other tools or secrets: open it without any")
    return Opening(there.tools if known else comes.tools, comes.secrets or there.secrets)
