"""Pages of a log, and its state at any event: read by seq, forwards or backwards, without its lock.

`select` and `tally` filter records from any source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from ..codec import decode, decode_envelope
from ..context.texts import text_of
from ..errors import ConversationMissing, LogCorrupt
from ..events import ConversationCreated, Event
from ..state import State, apply
from ..storing import SCANNED, Page, Tally, Wanted
from .damage import error_of_empty, read_whole_log
from .framing import cut, whole
from .lineage import is_deleted
from .memos import known_seq, read_memo
from .reading import EVENTS, Part, read_log, read_on

CHUNK = 256
"""Maximum number of records that are read at once."""

CHUNK_BYTES = 1 << 20
"""Maximum bytes of records that are read at once, except for a single larger one."""

PAGE_BYTES = 8 << 20
"""Bytes of a page after which it ends."""

SCANNED_BYTES = 64 << 20
"""Bytes of examined records after which a page ends."""


def parts_of(directory: Path, upto: int | None = None) -> list[Part]:
    """Return the files that have a conversation's records, up to a seq, with the end of each record; for a thread.

    Raises `ConversationMissing` or `LogCorrupt`.
    """
    return _found(directory, upto, lambda event: None, lambda state: None)


def read_state(directory: Path, at: int | None = None) -> State:
    """Return the state after event `at`, or the last; for a thread. Raises `ConversationMissing` or `LogCorrupt`."""
    state = State()

    def replay(event: Event) -> None:
        nonlocal state
        state = apply(state, event)

    def recall(stored: State) -> None:
        nonlocal state
        state = stored

    _found(directory, at, replay, recall)
    return state


def _found(
    directory: Path, at: int | None, replay: Callable[[Event], None], recall: Callable[[State], None]
) -> list[Part]:
    try:
        if is_deleted(directory):
            raise ConversationMissing(directory.name)
        found = read_memo(directory)
        if found is not None and (at is None or found[0].seq <= at):
            state, parts = found
            recall(state)
            read_on(parts[-1], replay, outlines=True, upto=at)
        elif at is None:
            parts = read_whole_log(directory, replay, outlines=True)
        else:
            parts = read_log(directory, replay, outlines=True, upto=at)
    except FileNotFoundError as error:
        raise ConversationMissing(directory.name) from error
    if not parts[-1].ends and at is None:
        raise ConversationMissing(directory.name)
    return parts


def read_created(directory: Path) -> ConversationCreated:
    """Return the first event of a conversation; for a thread. Raises `ConversationMissing` or `LogCorrupt`."""
    path, durable = directory / EVENTS, 0
    try:
        line = _first_line(path)
        if not whole(line):
            durable, line = known_seq(directory), _first_line(path)
    except FileNotFoundError as error:
        raise ConversationMissing(directory.name) from error
    if is_deleted(directory):
        raise ConversationMissing(directory.name)
    if not whole(line):
        raise error_of_empty(directory, durable)
    try:
        event = decode(line)
    except (ValueError, UnicodeDecodeError) as error:
        raise LogCorrupt(path, 1, f"not an event of this schema ({error})", 0, repairable=False) from error
    if not isinstance(event, ConversationCreated):
        raise LogCorrupt(path, 1, "the log does not begin with a conversation", 0, repairable=False)
    return event


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline()


def read_page(parts: Sequence[Part], wanted: Wanted, limit: int, most: int = SCANNED) -> Page:
    """Return the first wanted events, at most `limit`, of `most` records; for a thread.

    Raises `LogCorrupt` or `OSError`.
    """
    first, last = bounds(wanted, parts[-1].last if parts else 0)
    end = first if wanted.backwards else last
    return select(_records(parts, first, last, wanted.backwards), wanted, limit, end, most)


def select(records: Iterable[tuple[int, bytes]], wanted: Wanted, limit: int, end: int, most: int = SCANNED) -> Page:
    """Return the first wanted events of some records, each with its seq; the last record is `end`."""
    events: list[msgspec.Raw] = []
    size = looked_at = 0
    for scanned, (seq, line) in enumerate(records, 1):
        looked_at += len(line)
        if _fits(line, wanted):
            event = cut(line)
            events.append(msgspec.Raw(event))
            size += len(event)
        full = len(events) >= limit or size >= PAGE_BYTES
        if seq != end and (full or scanned >= most or looked_at >= SCANNED_BYTES):
            return Page(tuple(events), seq)
    return Page(tuple(events), None)


def count_events(parts: Sequence[Part], wanted: Wanted, most: int = SCANNED) -> Tally:
    """Return the number of wanted events, of `most` records that are examined; for a thread.

    No record is examined if all are wanted. Raises `LogCorrupt` or `OSError`.
    """
    first, last = bounds(wanted, parts[-1].last if parts else 0)
    return tally(_records(parts, first, last, False), wanted, first, last, most)


def tally(records: Iterable[tuple[int, bytes]], wanted: Wanted, first: int, last: int, most: int = SCANNED) -> Tally:
    """Return the number of wanted events among the records from `first` to `last`."""
    if wanted.all:
        return Tally(max(last - first + 1, 0), None)
    count = looked_at = 0
    for scanned, (seq, line) in enumerate(records, 1):
        looked_at += len(line)
        count += _fits(line, wanted)
        if seq != last and (scanned >= most or looked_at >= SCANNED_BYTES):
            return Tally(count, seq)
    return Tally(count, None)


def bounds(wanted: Wanted, last: int) -> tuple[int, int]:
    """Return the first and the last seq to examine in a log; the last is smaller if there are none."""
    return max(wanted.after, 0) + 1, min(wanted.before - 1, last)


def _fits(line: bytes, wanted: Wanted) -> bool:
    """Return whether the event of a record is wanted; its envelope is checked first, which is cheaper."""
    if wanted.all:
        return True
    envelope = decode_envelope(line)
    if wanted.types and envelope.type not in wanted.types:
        return False
    if not _is_within(envelope.timestamp, wanted.since, wanted.until):
        return False
    if not (wanted.source or wanted.text):
        return True
    event = decode(line)  # a source that is the default of its type is not in the envelope
    return wanted.source in (None, event.source) and (not wanted.text or _says(event, wanted.text.casefold()))


def _is_within(time: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    if since is until is None:
        return True
    return time is not None and (since is None or since <= time) and (until is None or time < until)


def _says(event: Event, text: str) -> bool:
    found = text_of(event)
    return found is not None and text in found[1].casefold()


def _records(parts: Sequence[Part], first: int, last: int, backwards: bool) -> Iterator[tuple[int, bytes]]:
    """Return the records of these seqs, in order, or in reverse order."""
    for part in reversed(parts) if backwards else parts:
        here = range(max(first, part.after + 1), min(last, part.last) + 1)
        if here:
            with part.path.open("rb") as file:
                for run in _runs(part, here, backwards):
                    begin = part.place(run[0])[0]
                    file.seek(begin)
                    data = memoryview(file.read(part.place(run[-1])[1] - begin))
                    for seq in reversed(run) if backwards else run:
                        start, stop = part.place(seq)
                        line = bytes(data[start - begin : stop - begin])
                        if not whole(line):
                            number = seq - part.after
                            why = f"record {number} is damaged, though it was good before"
                            raise LogCorrupt(part.path, number, why, seq - 1, repairable=number > 1)
                        yield seq, line


def _runs(part: Part, seqs: range, backwards: bool) -> Iterator[range]:
    """Return runs of neighbouring records to read together: at most `CHUNK`, and at most `CHUNK_BYTES` unless it is a
    single one.
    """
    while seqs:
        run = seqs[-CHUNK:] if backwards else seqs[:CHUNK]
        while len(run) > 1 and part.place(run[-1])[1] - part.place(run[0])[0] > CHUNK_BYTES:
            half = len(run) // 2
            run = run[-half:] if backwards else run[:half]
        yield run
        seqs = seqs[: -len(run)] if backwards else seqs[len(run) :]
