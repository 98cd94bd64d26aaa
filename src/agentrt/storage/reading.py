"""Reading of a conversation's records: from the beginning, or by seq."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from ..codec import decode, skim
from ..errors import LogCorrupt
from ..events import Event
from .framing import cut, scan, whole

EVENTS = "events.jsonl"

PAGE = 256
"""Number of events that are read from the file at once."""

BUFFER = 1 << 20
"""Bytes of a log in memory while it is read from its beginning."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """A file with records: the end of each; the first one has seq `after` + 1."""

    path: Path
    after: int
    ends: array[int]

    @property
    def last(self) -> int:
        """The seq of its last record."""
        return self.after + len(self.ends)

    def place(self, seq: int) -> tuple[int, int]:
        """Return where the record of `seq` begins and ends."""
        index = seq - self.after - 1
        return (self.ends[index - 1] if index else 0), self.ends[index]


def load(parts: Sequence[Part], seqs: Sequence[int]) -> list[Event]:
    """Return events by their seqs; for a thread."""
    return [decode(line) for line in _lines(parts, seqs)]


def load_json(parts: Sequence[Part], seqs: Sequence[int]) -> list[bytes]:
    """Return the JSON of events by their seqs, as `framing.cut` takes it from their records; for a thread."""
    return [cut(line) for line in _lines(parts, seqs)]


def _lines(parts: Sequence[Part], seqs: Sequence[int]) -> Iterator[bytes]:
    """Return the records of these seqs; each run of neighbours in a file is one read."""
    for part in parts:
        here = [seq for seq in seqs if part.after < seq <= part.last]
        if not here:
            continue
        with part.path.open("rb") as file:
            for run in _runs(here):
                begin, end = part.place(run[0])[0], part.place(run[-1])[1]
                file.seek(begin)
                data = memoryview(file.read(end - begin))
                for seq in run:
                    start, stop = part.place(seq)
                    line = bytes(data[start - begin : stop - begin])
                    if not whole(line):
                        number = seq - part.after
                        why = f"record {number} is damaged, though it was good before"
                        raise LogCorrupt(part.path, number, why, seq - 1, repairable=number > 1)
                    yield line
        seqs = [seq for seq in seqs if seq > here[-1]]


def _runs(seqs: Sequence[int]) -> Iterator[list[int]]:
    """Return the runs of neighbours, each at most a page."""
    run: list[int] = []
    for seq in seqs:
        if run and (seq != run[-1] + 1 or len(run) == PAGE):
            yield run
            run = []
        run.append(seq)
    yield run


def read_log(
    directory: Path, replay: Callable[[Event], None], *, outlines: bool = False, upto: int | None = None
) -> list[Part]:
    """Pass the intact events of a conversation, up to seq `upto`, to `replay`; for a thread, since it blocks.

    As `outlines`, they are reduced by `codec.skim`. A fork's own file comes after those of its parents; the files that
    have the records are returned in that order. Bytes after the last end in the last file are an incomplete tail.
    Raises `LogCorrupt`, or `FileNotFoundError`; the files are only read.
    """
    path, parts = directory / EVENTS, list[Part]()
    with path.open("rb") as file:
        shared = origin(file.readline())
    if shared is not None:
        last = shared[1] if upto is None else min(shared[1], upto)
        try:
            parts = read_log(directory.parent / shared[0], replay, outlines=outlines, upto=last)
        except FileNotFoundError as error:
            why = f"the first {shared[1]} events are those of conversation {shared[0]}, which is not there"
            raise LogCorrupt(path, 1, why, 0, repairable=False) from error
    own = Part(path, shared[1] if shared else 0, array("Q"))
    read_on(own, replay, outlines=outlines, upto=upto)
    return [*parts, own]


def read_on(part: Part, replay: Callable[[Event], None], *, outlines: bool = False, upto: int | None = None) -> None:
    """Read the rest of a file after a part of it, and extend the part to it; otherwise like `read_log`."""
    read, ends = skim if outlines else decode, part.ends
    if upto is not None and part.last >= upto:
        return
    with part.path.open("rb", buffering=BUFFER) as file:
        end = file.seek(ends[-1] if ends else 0)
        for batch in scan(file, part.path, part.last, len(ends)):
            before = len(ends)
            for line in batch:
                try:
                    event = read(line)
                except (ValueError, UnicodeDecodeError) as error:
                    why = f"not an event of this schema ({error})"
                    raise LogCorrupt(part.path, len(ends) + 1, why, part.last, repairable=before > 0) from error
                replay(event)
                end += len(line)
                ends.append(end)
                if part.last == upto:
                    return  # what comes next may be damaged


class _Origin(msgspec.Struct, frozen=True):
    type: str
    seq: int
    parent: str | None = None


_origins = msgspec.json.Decoder(_Origin)


def origin(line: bytes) -> tuple[str, int] | None:
    """Return the parent of a fork, and the last seq that they share, from the fork's first record."""
    if whole(line):
        try:
            first = _origins.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if first.parent is not None and first.seq > 1:
            return first.parent, first.seq - 1
    return None
