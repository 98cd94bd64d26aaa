"""Damage of a whole log: events that its memo knows and that it lacks, and content that is not a log.

A reader has no lock, so `memos.known_seq` is asked before the log is read: its writer may append events meanwhile, and
tell them in the memo.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..errors import ConversationMissing, LogCorrupt, LogError
from ..events import ConversationCreated, DurabilityChanged, Event
from ..specs import Durability
from .framing import scan
from .memos import MEMO, known_seq
from .reading import EVENTS, Part, read_log

_START = b'{"i":1,"n":'


def read_whole_log(directory: Path, replay: Callable[[Event], None], *, outlines: bool = False) -> list[Part]:
    """Do the same as `read_log` to the end of a log, and check that this is its end; for a thread.

    Raises also `LogCorrupt` if it lacks events that were durable, or never was a log.
    """
    durable = known_seq(directory)
    parts = read_log(directory, replay, outlines=outlines)
    last, own = parts[-1].last, parts[-1]
    if not last and isinstance(error := error_of_empty(directory, durable), LogCorrupt):
        raise error
    if (lack := lost_after(directory, last, durable)) is not None:
        raise LogCorrupt(own.path, len(own.ends) + 1, lack, last, repairable=bool(own.ends))
    return parts


def lost_after(directory: Path, last: int, durable: int) -> str | None:
    """Return the reason why a log that ends with event `last` is damaged; None if it is not. For a thread.

    Its memo, which knew event `durable` before the log was read, is the witness: it is written after the log was
    synced, so no crash leaves it ahead of the log. A log that ends under a weaker durability may lack events, also such
    that were acknowledged: its next opening begins a new epoch, so it is not refused.
    """
    if durable <= last or (last and _is_weaker(directory, last)):
        return None
    return f"the log ends with event {last}, though {MEMO} says that event {durable} was durable"


def _is_weaker(directory: Path, last: int) -> bool:
    """Return whether batches were acknowledged before they were synced when event `last` was written."""
    weaker = False

    def replay(event: Event) -> None:
        nonlocal weaker
        match event:
            case DurabilityChanged(durability=durability):
                weaker = durability is not Durability.COMMIT
            case ConversationCreated():  # of a fork, too, which its writer synced
                weaker = False
            case _:
                pass

    with suppress(LogCorrupt, FileNotFoundError):
        read_log(directory, replay, outlines=True, upto=last)
    return weaker


def error_of_empty(directory: Path, durable: int) -> LogError:
    """Return the error of a log without a whole batch: `LogCorrupt` if it had one, or never was a log.

    `ConversationMissing` if its creation was interrupted. Raises `FileNotFoundError`. For a thread.
    """
    path = directory / EVENTS
    try:
        with path.open("rb") as file:
            if is_foreign(file.read(len(_START))):
                return LogCorrupt(path, 1, "it does not begin as a log does", 0, repairable=False)
            file.seek(0)
            next(scan(file, path), None)
    except LogCorrupt as corrupt:
        return corrupt
    lack = lost_after(directory, 0, durable)
    return ConversationMissing(directory.name) if lack is None else LogCorrupt(path, 1, lack, 0, repairable=False)


def is_foreign(head: bytes) -> bool:
    """Return whether no crash can have left this beginning of a log: a crash leaves what was written, or NULs."""
    return any(byte not in (wanted, 0) for byte, wanted in zip(head, _START, strict=False))
