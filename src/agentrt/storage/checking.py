"""Checks and repairs of logs on a person's request: which parts are whole, incomplete or damaged."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from ..codec import decode
from ..errors import ConfigurationError, ConversationMissing, LogCorrupt, LogFailed
from ..events import ConversationCreated, DurabilityChanged, Event, MessageEvent, ObservationEvent
from ..specs import BlobReference
from ..state import State, apply
from .blobs import BLOBS
from .damage import error_of_empty, lost_after
from .disk import sync_directory
from .framing import frame, place, scan
from .journal import settle
from .lineage import forks
from .locks import Locks
from .memos import MEMO, known_seq
from .names import default_store
from .reading import BUFFER, EVENTS, origin, read_log
from .salvaging import salvage
from .snapshots import SNAPSHOT

LOOKS = 3
"""How often a log that grows during the check is read again before its tail is reported as incomplete."""


class Damage(msgspec.Struct, frozen=True):
    """A fault, with its file and line."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check of a conversation's files: `events` whole records in the first `length` bytes."""

    path: Path
    after: int = 0
    """The last seq that a fork shares with its parent, which has those records."""
    events: int = 0
    length: int = 0
    size: int = 0
    blobs: int = 0
    """Number of blobs that events refer to and that are whole."""
    damage: Damage | None = None
    """The first record that is damaged although it was durable, or is not an event of this schema."""
    beyond: int = 0
    """Number of intact events after the whole batches before the damage."""
    missing: tuple[Damage, ...] = ()
    """Blobs, and a fork's parent, that do not match the records."""

    @property
    def torn(self) -> int:
        """Bytes of a tail that belongs to no whole batch, from a crash or a write in progress."""
        return 0 if self.damage is not None else self.size - self.length

    @property
    def repairable(self) -> bool:
        """Whether a forced repair would keep a part of the log."""
        return self.events > 0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.torn and self.damage is None and not self.missing


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a repair: `cut` bytes were removed from the log, `events` remain; `kept` has the removed bytes.

    After a forced repair, the log has one more event, which begins a new epoch.
    """

    events: int
    cut: int = 0
    kept: Path | None = None
    whole: bool = False
    """Whether `kept` is a copy of the whole file, instead of the tail alone."""


def is_log(directory: Path) -> bool:
    """Return whether a directory contains a log, in a store or elsewhere."""
    return os.path.exists(directory / EVENTS)  # false also for a name that is too long


def directory_of(store: Path | str, conversation_id: str) -> Path:
    """Return the directory of a conversation. Raises `ConfigurationError` if the store does not use files."""
    return root_of(store) / "conversations" / conversation_id


def root_of(store: Path | str | None) -> Path:
    """Return the directory of a store. Raises `ConfigurationError` if the store does not use files."""
    if store is not None and "://" in str(store):
        raise ConfigurationError(f"{store} has no files: only those can be checked and repaired")
    return default_store() if store is None else Path(store)


def verify(directory: Path) -> Verdict:
    """Check every record and blob of a conversation, in one pass, and change nothing; for a thread.

    Raises `ConversationMissing`, or `OSError` if a file cannot be read.
    """
    path = directory / EVENTS
    if not path.exists():
        raise ConversationMissing(directory.name)
    verdict = _look(directory, path)
    for _ in range(1, LOOKS):
        if not verdict.torn or path.stat().st_size == verdict.size:
            break
        verdict = _look(directory, path)
    return verdict


def _look(directory: Path, path: Path) -> Verdict:
    durable = known_seq(directory)
    with path.open("rb", buffering=BUFFER) as file:
        shared = origin(file.readline())
        file.seek(0)
        after = shared[1] if shared else 0
        blobs = _Blobs(directory, path)
        lines = 0
        length = 0
        damage: Damage | None = None
        batches = scan(file, path, after)
        try:
            while (batch := _next(batches, path, after)) is not None:
                for number, line in enumerate(batch, lines + 1):
                    blobs.check(number, _event(path, number, line, first=number == 1 and shared is None))
                lines += len(batch)
                length += sum(map(len, batch))
        except LogCorrupt as corrupt:
            damage = Damage(path, corrupt.line, corrupt.reason)
        missing = list(blobs.missing)
        damage = damage or _lost(path, after, lines, durable)
        if shared is not None and (lack := _lack(directory, *shared)):
            missing.append(Damage(path, 1, lack))
        size = os.fstat(file.fileno()).st_size if damage is not None else file.tell()
    return Verdict(
        path=path,
        after=after,
        events=lines,
        length=length,
        size=size,
        blobs=blobs.whole,
        damage=damage,
        beyond=_beyond(directory, after + lines) if damage is not None else 0,
        missing=tuple(missing),
    )


def _lost(path: Path, after: int, lines: int, durable: int) -> Damage | None:
    """Return the damage of a log whose whole batches are read: events that it had, or content that is not a log."""
    if not after + lines and isinstance(error := error_of_empty(path.parent, durable), LogCorrupt):
        return Damage(path, error.line, error.reason)
    lack = lost_after(path.parent, after + lines, durable)
    return None if lack is None else Damage(path, lines + 1, lack)


def _beyond(directory: Path, last: int) -> int:
    """Return the number of intact events after event `last`."""
    return sum(record.seq > last for record in salvage(directory).records)


def _next(batches: Iterator[list[bytes]], path: Path, after: int) -> list[bytes] | None:
    """Return the next whole batch, if there is one. Raises `LogCorrupt`, which says how the record is damaged."""
    try:
        return next(batches, None)
    except LogCorrupt as corrupt:
        fault = _fault(path, corrupt.line, after)
        raise LogCorrupt(path, corrupt.line, f"{corrupt.reason}: {fault}") from corrupt


def _event(path: Path, number: int, line: bytes, *, first: bool) -> Event:
    """Return the event of an intact record. Raises `LogCorrupt` if it is not an event."""
    try:
        event = decode(line)
    except (ValueError, UnicodeDecodeError) as error:
        raise LogCorrupt(path, number, f"not an event of this schema ({error})") from error
    if first and not isinstance(event, ConversationCreated):
        raise LogCorrupt(path, number, f"a log begins with ConversationCreated, not with {type(event).__name__}")
    return event


def _lack(directory: Path, parent: str, upto: int) -> str:
    """Return the fault in the records that a fork shares with its parent."""
    try:
        have = _records(directory.parent / parent / EVENTS, upto)
    except FileNotFoundError:
        return f"the first {upto} events are those of conversation {parent}, which is not there"
    except LogCorrupt as corrupt:
        return f"the first {upto} events are those of conversation {parent}, which is damaged in line {corrupt.line}"
    if have < upto:
        return f"the first {upto} events are those of conversation {parent}, of which {have} are whole"
    return ""


def _records(path: Path, upto: int) -> int:
    """Return the seq of the last whole batch of a log, or of the first batch that reaches `upto`."""
    with path.open("rb", buffering=BUFFER) as file:
        shared = origin(file.readline())
        file.seek(0)
        seq = shared[1] if shared else 0
        if shared is not None and _lack(path.parent, shared[0], min(seq, upto)):
            return 0
        for batch in scan(file, path, seq):
            if (seq := seq + len(batch)) >= upto:
                break
    return seq


def _fault(path: Path, number: int, after: int) -> str:
    """Return what a line shows about its damage."""
    with path.open("rb", buffering=BUFFER) as file:
        line = next(islice(file, number - 1, None), b"")
    here = place(line)
    if here is not None:
        return f"record {after + number} was to be here, and this is record {here.seq}, {here.i} of {here.n}"
    return "its checksum does not match" if b',"crc":"' in line[-20:] else "it does not end as a record does"


class _Blobs:
    """The blobs of one conversation, each checked once."""

    def __init__(self, directory: Path, log: Path) -> None:
        self._directory, self._log = directory / BLOBS, log
        self._seen: set[str] = set()
        self.whole = 0
        self.missing: list[Damage] = []

    def check(self, line: int, event: Event) -> None:
        """Check the blobs that an event refers to."""
        for named in _named(event):
            if named.sha256 in self._seen:
                continue
            self._seen.add(named.sha256)
            if wrong := self._wrong(named):
                self.missing.append(Damage(self._log, line, wrong))
            else:
                self.whole += 1

    def _wrong(self, named: BlobReference) -> str:
        try:
            with (self._directory / named.sha256).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if hashlib.file_digest(file, "sha256").hexdigest() != named.sha256:
                    return f"blob {named.sha256} is damaged"
        except FileNotFoundError:
            return f"blob {named.sha256} is missing"
        return "" if size == named.size else f"blob {named.sha256} has {size} bytes, not {named.size}"


def _named(event: Event) -> Iterator[BlobReference]:
    if isinstance(event, (MessageEvent, ObservationEvent)):
        yield from (block for block in event.content if isinstance(block, BlobReference))


def repair(directory: Path, *, force: bool = False) -> Repair:
    """Set aside an incomplete tail; with `force`, cut a damaged log before its first damaged batch, and keep a copy.

    For a thread. It holds the writer's lock of the store, a directory with `conversations/` in it. Raises
    `ConversationMissing`; `LogLocked` if a process is writing the conversation; `LogCorrupt` if it is damaged and
    `force` is not set, nothing would remain, or a fork shares events that would be cut; `ConfigurationError` outside a
    store; `LogFailed` if a file cannot be written.
    """
    path = directory.absolute() / EVENTS
    if not path.exists():
        raise ConversationMissing(directory.name)
    root = path.parent.parent.parent
    if path.parent.parent.name != "conversations":
        raise ConfigurationError(f"{directory} is not in a store's 'conversations', so nothing says who else writes it")
    try:
        locks = Locks(root / "lock")
        try:
            locks.acquire(path.parent.name)
            return _fix(path, verify(path.parent), force=force)
        finally:
            locks.close()
    except OSError as error:
        raise LogFailed(path, error) from error


def _fix(path: Path, found: Verdict, *, force: bool) -> Repair:
    if found.damage is not None:
        if not force or not found.repairable:
            none = "" if found.repairable else ", and no whole batch is before it, so nothing would remain"
            raise LogCorrupt(path, found.damage.line, found.damage.reason + none, repairable=found.repairable)
        if sharing := _sharing(path.parent, found.after + found.events):
            why = f"{found.damage.reason}, in what fork {sharing} shares"
            raise LogCorrupt(path, found.damage.line, why, repairable=False)
        kept = _copy(path)
        with path.open("r+b") as file:
            file.truncate(found.length)
            file.seek(found.length)
            file.write(_new_epoch(path.parent))
            file.flush()
            os.fsync(file.fileno())
        for cache in (SNAPSHOT, MEMO):
            (path.parent / cache).unlink(missing_ok=True)  # of events that are gone
        sync_directory(path.parent)
        return Repair(events=found.after + found.events, cut=found.size - found.length, kept=kept, whole=True)
    if not found.torn:
        return Repair(events=found.after + found.events)
    before = set(path.parent.glob(f"{EVENTS}.torn-*"))
    settle(path, found.length)
    (kept,) = set(path.parent.glob(f"{EVENTS}.torn-*")) - before
    return Repair(events=found.after + found.events, cut=found.torn, kept=kept)


def _sharing(directory: Path, after: int) -> str | None:
    """Return a fork that shares an event after seq `after`: new events in its place would become the fork's history."""
    for name in forks(directory):
        if (log := directory.parent / name / EVENTS).exists():
            with log.open("rb") as file:
                shared = origin(file.readline())
            if shared is None or shared[1] > after:
                return name
    return None


def _new_epoch(directory: Path) -> bytes:
    """Return the record that marks the loss of events that clients may have seen, so that their cursors start over."""
    state = State()

    def replay(event: Event) -> None:
        nonlocal state
        state = apply(state, event)

    read_log(directory, replay, outlines=True)
    event = DurabilityChanged(seq=state.seq + 1, durability=state.durability, epoch=state.epoch + 1)
    return b"".join(frame([event], durable=state.seq))


def _copy(path: Path) -> Path:
    """Make a durable copy of a whole log, beside it."""
    number = 1
    while (copy := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    with path.open("rb") as source, copy.open("xb") as target:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    sync_directory(path.parent)
    return copy
