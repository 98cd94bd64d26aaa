from __future__ import annotations

import errno
from array import array
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrt.errors import LogFailed
from agentrt.events import Event
from agentrt.specs import Durability
from agentrt.storage.journal import FileJournal, Rest
from agentrt.storage.reading import EVENTS, Part
from agentrt.storage.writer import Writer
from tests import samples

from .logs import created
from .simulated_disk import SimulatedDisk

pytestmark = pytest.mark.simulated


async def written(disk: SimulatedDisk, durability: Durability, batches: int) -> tuple[FileJournal, int]:
    """The journal of a conversation to which `batches` were given, closed, and how many were acknowledged."""
    directory = disk.root / "conversations" / "c"
    writer = Writer(disk.root / "conversations", durability=durability, disk=disk)
    journal = FileJournal(directory, writer, [Part(directory / EVENTS, 0, array("Q"))], new=True)
    acknowledged, seq = 0, 1
    outcomes = list[LogFailed | None]()
    for number in range(batches):
        events: list[Event] = [*samples.numbered(created("c") if not number else [samples.message("x" * 600)], seq)]
        seq += len(events)
        journal.append(events, outcomes.append)
        if number % 2:  # the others share a group
            while len(outcomes) <= number:
                await anyio.lowlevel.checkpoint()
    with suppress(LogFailed):
        await journal.close()
    with suppress(OSError):  # of the directory
        await writer.close()
    acknowledged = sum(outcome is None for outcome in outcomes)
    return journal, acknowledged


@pytest.fixture(scope="module")
def made_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without conversations, which are on the simulated disk."""
    root = tmp_path_factory.mktemp("store")
    (root / "conversations").mkdir()
    return root


@given(
    durability=st.sampled_from(Durability),
    batches=st.integers(1, 7),
    fault=st.integers(1, 30),
    kind=st.sampled_from([errno.ENOSPC, errno.EIO]),
    short=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=40, deadline=None)
def test_what_remains_of_a_failed_log_is_what_the_disk_has(
    made_before: Path, durability: Durability, batches: int, fault: int, kind: int, short: float
) -> None:
    disk = SimulatedDisk(made_before, seed=(batches, fault), faults={fault: kind}, short=short)

    async def run() -> tuple[FileJournal, int]:
        return await written(disk, durability, batches)

    journal, acknowledged = anyio.run(run)
    path = journal.directory / EVENTS
    if journal.unused:
        assert acknowledged == 0
        return
    rest = journal.rest
    held, certain = disk.held(path), disk.certain(path)
    assert rest.kept <= rest.acknowledged <= len(held)
    assert held[: rest.acknowledged].count(b"\n") == journal.seen
    if durability is Durability.COMMIT:
        assert rest.kept == rest.acknowledged
    if journal.failed:
        lost = held[: rest.kept] != certain[: rest.kept]
        assert not lost or durability is not Durability.COMMIT, "what is kept is on the disk"
    assert held[: rest.kept].endswith(b"\n") or not rest.kept


def test_refused_records_are_cut_without_a_copy_and_lost_ones_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "conversations" / "c" / EVENTS
    path.parent.mkdir(parents=True)
    path.write_bytes(b"kept\nlost\nrefused\nhalf of a")
    Rest(path, 10, 5).cut()
    assert path.read_bytes() == b"kept\n"
    assert path.with_name(f"{EVENTS}.torn-1").read_bytes() == b"lost\n"
    path.write_bytes(b"kept\nrefused\n")
    Rest(path, 5, 5).cut()
    assert path.read_bytes() == b"kept\n"
    assert len(list(path.parent.iterdir())) == 2
    path.write_bytes(b"ke")
    Rest(path, 5, 5).cut()
    assert path.read_bytes() == b"ke", "nothing is added to a file that somebody else shortened"
    with pytest.raises(FileNotFoundError):
        Rest(path.with_name("gone"), 5, 5).cut()
