"""`Summary`: what a condensation keeps of the events that it takes out of a view, in a fixed shape."""

from __future__ import annotations

import msgspec


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Six parts. What a person asked for is there word for word; each entry of the others is a line."""

    count: int = 0
    """The events that it stands for: how many, and the seqs of the first and the last."""
    first: int = 0
    last: int = 0
    task: str = ""
    asked: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """The files that were worked on, and their state."""
    open: tuple[str, ...] = ()
    """What is still to be done."""
    failed: tuple[str, ...] = ()
    """What did not work: commands above all."""
