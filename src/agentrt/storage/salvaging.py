"""The intact records of a damaged log, and the gaps between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..codec import decode
from ..storing import SCANNED, Gap, Page, Tally, Wanted
from .damage import lost_after
from .framing import place
from .memos import known_seq
from .pages import bounds, select, tally
from .reading import BUFFER, EVENTS, origin


class _Record(NamedTuple):
    """Where an intact record is."""

    seq: int
    path: Path
    begin: int
    end: int


class Salvage(msgspec.Struct, frozen=True):
    """The intact records of a damaged log, ascending by seq, and the gaps."""

    records: list[_Record]
    gaps: list[Gap]

    @property
    def last(self) -> int:
        """The seq of the last intact record."""
        return self.records[-1].seq if self.records else 0


def salvage(directory: Path) -> Salvage:
    """Find the intact records of a log; for a thread. Raises `FileNotFoundError`.

    A torn tail has none: nothing says that it was durable.
    """
    durable = known_seq(directory)
    found = _salvage(directory, durable)
    if (lack := lost_after(directory, found.last, durable)) is not None:
        gaps = [gap for gap in found.gaps if gap.before is not None]
        found = Salvage(found.records, [*gaps, Gap(found.last, None, lack)])
    return found


def salvaged_page(directory: Path, wanted: Wanted, limit: int, most: int = SCANNED) -> Page:
    """Do the same as `read_page`, with the intact events of a damaged log; for a thread. Raises `OSError`."""
    found = salvage(directory)
    first, last = bounds(wanted, found.last)
    records = [record for record in found.records if first <= record.seq <= last]
    if wanted.backwards:
        records.reverse()
    end = records[-1].seq if records else 0
    page = select(_lines(records), wanted, limit, end, most)
    after, before = first - 1, wanted.before  # of the part of the log that the page is about
    if page.next is not None:
        after, before = (page.next, before) if wanted.backwards else (after, page.next)
    return Page(page.events, page.next, tuple(gap for gap in found.gaps if _is_within(gap, after, before)))


def _is_within(gap: Gap, after: int, before: int) -> bool:
    """Return whether events of a gap are within these bounds. One at the end belongs to the last event."""
    if gap.before is None:
        return gap.after < before
    return gap.after + 1 < before and gap.before - 1 > after


def salvaged_count(directory: Path, wanted: Wanted, most: int = SCANNED) -> Tally:
    """Do the same as `count_events`, with the intact events of a damaged log; for a thread. Raises `OSError`."""
    found = salvage(directory)
    first, last = bounds(wanted, found.last)
    records = [record for record in found.records if first <= record.seq <= last]
    if wanted.all or not records:
        return Tally(len(records), None)
    return tally(_lines(records), wanted, first, records[-1].seq, most)


def _lines(records: Iterable[_Record]) -> Iterator[tuple[int, bytes]]:
    opened: tuple[Path, bytes] | None = None
    for record in records:
        if opened is None or opened[0] != record.path:
            opened = record.path, record.path.read_bytes()
        yield record.seq, opened[1][record.begin : record.end]


def _salvage(directory: Path, durable: int) -> Salvage:
    """Find the intact records of a log, of which those up to `durable` were durable."""
    path = directory / EVENTS
    with path.open("rb", buffering=BUFFER) as file:
        shared = origin(file.readline())
        file.seek(0)
        found = Salvage([], []) if shared is None else _shared(directory.parent / shared[0], shared[1])
        _take(file, path, shared[1] if shared else 0, durable, found)
    return found


def _shared(parent: Path, upto: int) -> Salvage:
    """Find the intact records that a fork shares with its parent."""
    try:
        found = _salvage(parent, upto)
    except FileNotFoundError:
        return Salvage([], [Gap(0, upto + 1, f"they are those of conversation {parent.name}, which is not there")])
    records = [record for record in found.records if record.seq <= upto]
    gaps = [gap for gap in found.gaps if gap.after < upto and gap.before is not None]
    last = records[-1].seq if records else 0
    if last < upto and not (gaps and gaps[-1].after == last):
        gaps.append(Gap(last, upto + 1, f"they are missing in conversation {parent.name}"))
    return Salvage(records, gaps)


def _take(lines: Iterable[bytes], path: Path, after: int, durable: int, found: Salvage) -> None:
    """Add the records of a file whose first one should follow seq `after`. An unfinished batch at its end does not
    count, except for records that were `durable`.
    """
    end, last, reason = 0, after, ""
    batch = list[_Record]()
    """Records of a batch whose end was not seen yet."""
    for number, line in enumerate(lines, 1):
        begin, end = end, end + len(line)
        here = place(line)
        problem = "" if here is not None else f"line {number} is damaged"
        if here is not None and here.seq <= last:
            problem = f"line {number} repeats event {here.seq}"
        elif here is not None:
            problem = _problem_of(line, number)
        if here is None or problem:
            reason = reason or problem
            continue
        if batch and here.i == 1:
            found.records.extend(batch)  # a later batch followed, so this was written as a whole
            batch.clear()
        if here.seq > last + 1:
            found.gaps.append(Gap(last, here.seq, reason or f"line {number} is event {here.seq}"))
        batch.append(_Record(here.seq, path, begin, end))
        last, reason = here.seq, ""
        if here.i == here.n:
            found.records.extend(batch)
            batch.clear()
    found.records.extend(record for record in batch if record.seq <= durable)
    if reason:
        found.gaps.append(Gap(last, None, reason))


def _problem_of(line: bytes, number: int) -> str:
    """Return why an intact record is not an event; "" if it is one."""
    try:
        decode(line)
    except (ValueError, UnicodeDecodeError) as error:
        return f"line {number} is not an event of this schema ({error})"
    return ""
