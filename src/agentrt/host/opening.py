"""`Opening`: the tools and secrets that an opener of a conversation brings, and which are used if several do. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..errors import ConfigurationError
from ..placing import Place
from ..secrets import SecretRegistry
from ..tools import ToolType


class Opening(msgspec.Struct, frozen=True):
    """What an opener of a conversation brings along."""

    tools: tuple[ToolType, ...] = ()
    """Implementations that the runtime does not have."""
    secrets: SecretRegistry | None = None
    """None: those in the conversation's log."""
    place: Place | None = None
    """An open place of its workspace, which outlives it; None: it opens one itself."""
    delegates: bool = False
    """Whether the opener is the conversation that delegates to this one."""


NOTHING = Opening()


def agreed(name: str, comes: Opening, there: Opening, others: Iterable[Opening]) -> Opening:
    """Return what a conversation is open with after another opener comes; `there` itself if that changes nothing.

    The delegating conversation comes first: its tools and secrets are used. Then come openers that bring something; an
    opener that brings nothing shares what is there. Raise `ConfigurationError` if it brings tools or secrets that a
    delegating conversation among the `others` does not have, or tools that `others` with tools do not have.
    """
    if comes.delegates:
        same = comes.secrets is there.secrets and comes.tools == there.tools and comes.place is there.place
        return there if same else Opening(comes.tools, comes.secrets, comes.place)
    known = all(tool in there.tools for tool in comes.tools)
    placed = comes.place is None or comes.place is there.place
    if known and placed and (comes.secrets is None or comes.secrets is there.secrets):
        return there
    others = tuple(others)
    if not placed and others:
        raise ConfigurationError(f"conversation {name!r} is open here in another place: open it without a workspace")
    if any(other.delegates or (other.tools and not known) for other in others):
        raise ConfigurationError(f"conversation {name!r} is open here with other tools or secrets: open it without any")
    place = there.place if placed else comes.place
    return Opening(there.tools if known else comes.tools, comes.secrets or there.secrets, place)
