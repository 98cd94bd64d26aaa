"""Pages of a log, and its state at any place: read by seq, forwards or backwards, without its lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ..codec import decode, decode_envelope, encode
from ..errors import ConversationMissing, LogCorrupt
from ..events import ConversationCreated, Event
from ..state import State, apply
from .framing import whole
from .lineage import is_deleted
from .memos import read_memo
from .reading import EVENTS, Part, read_log, read_on

CHUNK = 256
"""Records that are read at once, at most."""

CHUNK_BYTES = 1 << 20
"""Bytes of them, unless a single one is larger."""

PAGE_BYTES = 8 << 20
"""Bytes of a page, after which it ends."""

SCANNED = 10_000
"""Records that are looked at for a page, after which it ends, whatever was found."""


class Wanted(msgspec.Struct, frozen=True):
    """Which events: those with `after` < seq < `before`, of some types and of a source, where these are given."""

    after: int
    before: int
    backwards: bool = False
    types: frozenset[str] = frozenset()
    source: str | None = None


class Page(msgspec.Struct, frozen=True):
    """Events as JSON, in the order asked for; `next` is the seq from which to go on, None when nothing is left."""

    events: tuple[msgspec.Raw, ...]
    next: int | None


def parts_of(directory: Path) -> list[Part]:
    """The files that have a conversation's records, with where each record ends; for a thread.

    Raises `ConversationMissing` or `LogCorrupt`.
    """
    return _found(directory, None)[1]


def read_state(directory: Path, at: int | None = None) -> State:
    """The state after event `at`, or after the last; for a thread. Raises `ConversationMissing` or `LogCorrupt`."""
    return _found(directory, at)[0]


def _found(directory: Path, at: int | None) -> tuple[State, list[Part]]:
    state = State()

    def replay(event: Event) -> None:
        nonlocal state
        state = apply(state, event)

    try:
        if is_deleted(directory):
            raise ConversationMissing(directory.name)
        found = read_memo(directory)
        if found is not None and (at is None or found[0].seq <= at):
            state, parts = found
            read_on(parts[-1], replay, outlines=True, upto=at)
        else:
            parts = read_log(directory, replay, outlines=True, upto=at)
    except FileNotFoundError as error:
        raise ConversationMissing(directory.name) from error
    if not parts[-1].ends and at is None:
        raise ConversationMissing(directory.name)
    return state, parts


def read_created(directory: Path) -> ConversationCreated:
    """How a conversation began: its first record; for a thread. Raises `ConversationMissing` or `LogCorrupt`."""
    path = directory / EVENTS
    try:
        with path.open("rb") as file:
            line = file.readline()
    except FileNotFoundError as error:
        raise ConversationMissing(directory.name) from error
    if not whole(line) or is_deleted(directory):
        raise ConversationMissing(directory.name)
    try:
        event = decode(line)
    except (ValueError, UnicodeDecodeError) as error:
        raise LogCorrupt(path, 1, f"not an event of this schema ({error})") from error
    if not isinstance(event, ConversationCreated):
        raise LogCorrupt(path, 1, "the log does not begin with a conversation")
    return event


def read_page(parts: Sequence[Part], wanted: Wanted, limit: int, most: int = SCANNED) -> Page:
    """The first events that are wanted, `limit` at most, of so many records; for a thread.

    Raises `LogCorrupt` or `OSError`.
    """
    events: list[msgspec.Raw] = []
    size = 0
    first, last = wanted.after + 1, min(wanted.before - 1, parts[-1].last if parts else 0)
    end = first if wanted.backwards else last
    for scanned, (seq, line) in enumerate(_records(parts, first, last, wanted.backwards), 1):
        if (event := _chosen(line, wanted)) is not None:
            events.append(msgspec.Raw(event))
            size += len(event)
        if seq != end and (len(events) >= limit or size >= PAGE_BYTES or scanned >= most):
            return Page(tuple(events), seq)
    return Page(tuple(events), None)


def read_event(parts: Sequence[Part], seq: int) -> bytes | None:
    """An event as JSON; None when there is none of that seq; for a thread. Raises `LogCorrupt` or `OSError`."""
    page = read_page(parts, Wanted(seq - 1, seq + 1), 1)
    return bytes(page.events[0]) if page.events else None


def _chosen(line: bytes, wanted: Wanted) -> bytes | None:
    """The JSON of an event, without what framing adds, if it is wanted."""
    if wanted.types and decode_envelope(line).type not in wanted.types:
        return None
    event = decode(line)
    return encode(event) if wanted.source in (None, event.source) else None


def _records(parts: Sequence[Part], first: int, last: int, backwards: bool) -> Iterator[tuple[int, bytes]]:
    """The records of these seqs, in order, or in the reverse order."""
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
                            raise LogCorrupt(
                                part.path, number, f"record {number} is damaged, though it was good before"
                            )
                        yield seq, line


def _runs(part: Part, seqs: range, backwards: bool) -> Iterator[range]:
    """Neighbours that are read together: `CHUNK` at most, and `CHUNK_BYTES` where there is more than one."""
    while seqs:
        run = seqs[-CHUNK:] if backwards else seqs[:CHUNK]
        while len(run) > 1 and part.place(run[-1])[1] - part.place(run[0])[0] > CHUNK_BYTES:
            half = len(run) // 2
            run = run[-half:] if backwards else run[:half]
        yield run
        seqs = seqs[: -len(run)] if backwards else seqs[len(run) :]
