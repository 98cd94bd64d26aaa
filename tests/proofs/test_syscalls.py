"""The order of system calls, as strace sees it: written, synced, and only then acknowledged or acted on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import anyio
import msgspec
import pytest
import pytest_asyncio

from agentrt.events import ActionEvent, ExecutionStarted

from . import committer
from .evidence import RUN_SECONDS, Work, blobs, check_death, check_finished, number_of
from .system_calls import SLOW_SYNCS, STRACE, SystemCall, Write, parse, synced_after, syncs, why_not, writes
from .worker import ACKNOWLEDGED, COUNTED

PROJECT = Path(__file__).parent.parent.parent

pytestmark = [pytest.mark.real, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


class Trace:
    """A worker's system calls, beside the files that it wrote."""

    def __init__(self, work: Work, calls: Sequence[SystemCall], log_size: int, lines_before: int) -> None:
        self.work, self.calls = work, calls
        self.appends = list(writes(calls, work.log, log_size))
        self.ends = list(accumulate(len(line) for line in work.log.read_bytes().splitlines(keepends=True)))
        """Where the record of each seq ends in the file."""
        written = list(writes(calls, work.workspace / ACKNOWLEDGED))
        lines = work.acknowledged()[lines_before:]
        assert len(written) == len(lines)
        self.acknowledgements = [(seq, write.call.begun) for (seq, _), write in zip(lines, written, strict=True)]

    def records(self, write: Write) -> range:
        """The seqs of the records that a write wrote. Fails when it did not write whole records."""
        starts = [0, *self.ends]
        return range(starts.index(write.start) + 1, self.ends.index(write.end) + 2)

    def durable(self) -> dict[int, int]:
        """Where in the trace each record that this process wrote was synced."""
        synced = synced_after(self.calls, self.work.log)
        return {seq: synced(write.call.ended) for write in self.appends for seq in self.records(write)}


async def traced(work: Work, fault: str = SLOW_SYNCS) -> Trace:
    """Run a worker to its end under strace."""
    trace = work.store / "trace"
    log_size = work.log.stat().st_size if work.log.exists() else 0
    lines_before = len(work.acknowledged())
    with anyio.fail_after(RUN_SECONDS):
        command = [*STRACE, "-e", fault, "-o", str(trace), *work.command()]
        await anyio.run_process(command, env=work.environment, check=False, stderr=None)
    return Trace(work, parse(trace.read_text()), log_size, lines_before)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A run from its beginning to its end."""
    trace = await traced(Work(tmp_path_factory.mktemp("traced")))
    check_finished(trace.work, ())
    return trace


def test_each_batch_is_one_write_that_is_right_about_what_is_durable(run: Trace) -> None:
    places = [msgspec.json.decode(line, type=_Place) for line in run.work.log.read_bytes().splitlines()]
    durable = run.durable()
    for write in run.appends:
        batch = [places[seq - 1] for seq in run.records(write)]
        assert [place.i for place in batch] == list(range(1, batch[-1].n + 1))
        for seq in range(1, batch[0].durable + 1):
            assert durable[seq] < write.call.begun, f"{seq} was called durable before it was"
    assert sum(len(run.records(write)) for write in run.appends) == len(places)


def test_nothing_is_acknowledged_before_its_sync(run: Trace) -> None:
    durable = run.durable()
    assert [seq for seq, _ in run.acknowledgements] == list(range(1, len(run.ends) + 1))
    for seq, acknowledged in run.acknowledgements:
        assert durable[seq] < acknowledged, f"event {seq} was visible before it was durable"


def test_directories_are_synced_before_the_first_acknowledgement(run: Trace) -> None:
    check_directories(run)


def check_directories(run: Trace) -> None:
    first = run.acknowledgements[0][1]
    for directory in (run.work.directory, run.work.directory.parent):
        assert any(sync.ended < first for sync in syncs(run.calls, directory)), directory


def test_a_tool_takes_effect_after_the_sync_of_its_start(run: Trace) -> None:
    events, durable = run.work.events(), run.durable()
    numbers = {event.id: number_of(event) for event in events if isinstance(event, ActionEvent)}
    started = {numbers[event.action_id]: event.seq for event in events if isinstance(event, ExecutionStarted)}
    effects = [call for call in run.calls if call.path == run.work.workspace / COUNTED and call.name == "write"]
    lines = (run.work.workspace / COUNTED).read_text().splitlines()
    assert len(effects) == len(lines) == 11
    for line, effect in zip(lines, effects, strict=True):
        assert durable[started[int(line)]] < effect.begun, f"{line} was counted before its start was durable"


def test_a_blob_is_durable_before_its_event(run: Trace) -> None:
    events, directory = run.work.events(), run.work.directory / "blobs"
    (blob,) = blobs(events)
    (named,) = (event.seq for event in events if blobs([event]))
    append = next(write.call.begun for write in run.appends if named in run.records(write))
    (content,) = {call.path for call in run.calls if call.path.parent == directory and blob.sha256 in call.path.name}
    for path in (content, directory, directory.parent):
        assert any(sync.ended < append for sync in syncs(run.calls, path)), path


def test_a_new_store_is_durable_before_the_first_acknowledgement(run: Trace) -> None:
    first = run.acknowledgements[0][1]
    assert any(sync.ended < first for sync in syncs(run.calls, run.work.store)), "the name of its only directory"


@pytest.mark.parametrize("occurrence", [pytest.param(1, marks=pytest.mark.long), 7])
async def test_what_a_dead_process_wrote_and_did_not_sync(tmp_path: Path, occurrence: int) -> None:
    """What recovery finds may be in the page cache only: it is synced before it is shown, or said to be durable."""
    work = Work(tmp_path)
    assert await work.run("written", occurrence) != 0
    found = check_death(work, ())
    run = await traced(work)
    check_finished(work, [found])
    found_synced = synced_after(run.calls, work.log)(-1)
    assert found_synced < run.acknowledgements[0][1]
    assert found_synced < run.appends[0].call.begun, "the first record written says that what precedes it is durable"
    if occurrence == 1:
        check_directories(run)


async def test_many_files_in_a_group(tmp_path: Path) -> None:
    """They may be synced by one call for their file system; nothing is acknowledged before it either."""
    trace = tmp_path / "trace"
    program = [sys.executable, "-m", committer.__name__, str(tmp_path)]
    with anyio.fail_after(RUN_SECONDS):
        await anyio.run_process([*STRACE, "-e", SLOW_SYNCS, "-o", str(trace), *program], stderr=None, cwd=PROJECT)
    calls = parse(trace.read_text())
    lines = (tmp_path / committer.ACKNOWLEDGED).read_text().splitlines()
    acknowledgements = dict(zip(lines, writes(calls, tmp_path / committer.ACKNOWLEDGED), strict=True))
    for number in range(committer.JOURNALS):
        log = tmp_path / "conversations" / f"journal-{number}" / "events.jsonl"
        appends, synced = list(writes(calls, log)), synced_after(calls, log)
        assert len(appends) == committer.BATCHES
        for seq, append in enumerate(appends, 1):
            acknowledged = acknowledgements[f"journal-{number} {seq}"].call.begun
            assert synced(append.call.ended) < acknowledged
            for directory in (log.parent, log.parent.parent):
                assert any(sync.ended < acknowledged for sync in syncs(calls, directory))
    assert sum(call.name == "syncfs" for call in calls) > 0
    assert sum(call.name != "write" for call in calls) < committer.JOURNALS * committer.BATCHES


async def test_after_a_failed_sync_nothing_more_is_written_or_acknowledged(tmp_path: Path) -> None:
    work = Work(tmp_path)
    run = await traced(work, "inject=fdatasync:error=EIO:when=5")
    failed = next(call for call in run.calls if call.name == "fdatasync" and call.result == -1)
    assert (failed.path, len(run.appends)) == (work.log, 5)
    assert all(write.call.begun < failed.begun for write in run.appends)
    assert sum(sync.begun < failed.begun for sync in syncs(run.calls, work.log)) == 4, "before the cut"
    assert [seq for seq, _ in run.acknowledgements] == list(range(1, run.records(run.appends[3]).stop))
    found = check_death(work, ())
    assert await work.run() == 0
    check_finished(work, [found])


class _Place(msgspec.Struct):
    i: int
    n: int
    durable: int
