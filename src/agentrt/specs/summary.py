"""`Summary`: the content that a condensation keeps of the events that it removes from a view, in a fixed form."""

from __future__ import annotations

import msgspec


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A summary in six parts. Users' requests are kept word for word; each entry of the other parts is a line."""

    count: int = 0
    """The number of events that it replaces, and the seqs of the first and the last one."""
    first: int = 0
    last: int = 0
    task: str = ""
    asked: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """The files that were worked on, and their state."""
    open: tuple[str, ...] = ()
    """Open work."""
    failed: tuple[str, ...] = ()
    """Failures: mainly commands."""
    left_out: tuple[str, ...] = ()
    """The texts in force that had no room after the summary, by `Seen.stands`."""
