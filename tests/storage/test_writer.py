"""The writer thread: groups, failures, and nothing acknowledged after one."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path

import anyio
import pytest

from agentrt.errors import LogFailed
from agentrt.specs import Durability
from agentrt.storage.disk import Disk, sync_file_system
from agentrt.storage.writer import FEW, LogFile, Writer

from .commits import commit

pytestmark = pytest.mark.simulated


async def test_a_commit_is_on_disk_when_it_returns(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    file = LogFile(tmp_path / "c" / "events.jsonl", new=True)
    await commit(writer, file, b"one\n")
    assert (tmp_path / "c" / "events.jsonl").read_bytes() == b"one\n"
    await commit(writer, file, b"two\n")
    assert (tmp_path / "c" / "events.jsonl").read_bytes() == b"one\ntwo\n"
    await writer.close()


async def test_batches_that_wait_are_committed_in_one_group(tmp_path: Path) -> None:
    """While the first group is held, a hundred more arrive: they are the second group."""
    points: list[str] = []
    taken, hold = threading.Event(), threading.Event()

    def probe(point: str) -> None:
        points.append(point)
        if points == ["taken"]:
            taken.set()
            hold.wait(10)

    writer = Writer(tmp_path, probe)
    files = [LogFile(tmp_path / str(n) / "events.jsonl", new=True) for n in range(101)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(commit, writer, files[0], b"x\n")
        await anyio.to_thread.run_sync(taken.wait)
        for file in files[1:]:
            tasks.start_soon(commit, writer, file, b"x\n")
        await anyio.wait_all_tasks_blocked()
        hold.set()
    await writer.close()
    assert points == ["taken", "written", "synced", "acknowledged"] * 2
    assert all(file.path.read_bytes() == b"x\n" for file in files)


async def test_many_files_are_synced_with_their_file_system(tmp_path: Path) -> None:
    """More than a few in one group, one of which fails: the others are committed, new ones with their directories."""
    taken, hold = threading.Event(), threading.Event()

    def probe(point: str) -> None:
        if point == "taken" and not taken.is_set():
            taken.set()
            hold.wait(10)

    writer = Writer(tmp_path, probe)
    (tmp_path / "full").symlink_to("/dev/full")
    files = [LogFile(tmp_path / str(n) / "events.jsonl", new=True) for n in range(FEW * 3)]
    failed: list[str] = []

    async def attempt(file: LogFile) -> None:
        try:
            await commit(writer, file, b"x\n")
        except LogFailed as error:
            failed.append(Path(error.where).name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attempt, LogFile(tmp_path / "first" / "events.jsonl", new=True))
        await anyio.to_thread.run_sync(taken.wait)
        for file in [*files, LogFile(tmp_path / "full")]:
            tasks.start_soon(attempt, file)
        await anyio.wait_all_tasks_blocked()
        hold.set()
    await writer.close()
    assert failed == ["full"]
    assert all(file.path.read_bytes() == b"x\n" for file in files)


@pytest.mark.pure
def test_a_sync_that_fails_says_why() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        sync_file_system(-1)


async def test_a_file_that_cannot_be_written_fails_alone_and_for_good(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    good = LogFile(tmp_path / "good" / "events.jsonl", new=True)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a directory should be")
    bad = LogFile(blocked / "events.jsonl", new=True)
    failures: list[LogFailed] = []

    async def fail() -> None:
        with pytest.raises(LogFailed) as error:
            await commit(writer, bad, b"x\n")
        failures.append(error.value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail)
        tasks.start_soon(commit, writer, good, b"x\n")
    blocked.unlink()
    await fail()
    assert len(failures) == 2
    assert not (blocked / "events.jsonl").exists(), "nothing more is written to a file that has failed"
    await commit(writer, good, b"y\n")
    assert good.path.read_bytes() == b"x\ny\n"
    await writer.close()


async def test_a_full_disk_acknowledges_nothing(tmp_path: Path) -> None:
    """`/dev/full` answers each write with ENOSPC, as a full disk does."""
    path = tmp_path / "events.jsonl"
    path.symlink_to("/dev/full")
    writer = Writer(tmp_path)
    with pytest.raises(LogFailed, match="No space left on device"):
        await commit(writer, LogFile(path), b"x\n")
    await writer.close()


async def test_an_existing_file_is_never_created_over(tmp_path: Path) -> None:
    path = tmp_path / "c" / "events.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"precious\n")
    writer = Writer(tmp_path)
    with pytest.raises(LogFailed):
        await commit(writer, LogFile(path, new=True), b"x\n")
    assert path.read_bytes() == b"precious\n"
    await writer.close()


async def test_closing_commits_what_was_given(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    file = LogFile(tmp_path / "c" / "events.jsonl", new=True)
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(commit, writer, file, b"x\n")
        await anyio.wait_all_tasks_blocked()
        await writer.close()
    assert file.path.read_bytes() == b"x\n" * 50
    file.close()
    assert not any(thread.name == "agentrt-writer" and thread.is_alive() for thread in threading.enumerate())


class Counting(Disk):
    """Knows how many log files are open, and the most that were at once."""

    def __init__(self) -> None:
        self.open_now: set[int] = set()
        self.most = self.opened = 0

    def open(self, path: Path, *, new: bool) -> int:
        descriptor = super().open(path, new=new)
        self.open_now.add(descriptor)
        self.most, self.opened = max(self.most, len(self.open_now)), self.opened + 1
        return descriptor

    def close(self, descriptor: int) -> None:
        self.open_now.discard(descriptor)
        super().close(descriptor)


@pytest.mark.parametrize("durability", list(Durability))
@pytest.mark.parametrize("together", [True, False], ids=["one-group", "one-by-one"])
async def test_few_files_are_open_at_once(tmp_path: Path, durability: Durability, together: bool) -> None:
    """Those that were written longest ago are closed, and opened again when they are written again."""
    disk = Counting()
    writer = Writer(tmp_path, durability=durability, disk=disk, open_files=4)
    files = [LogFile(tmp_path / str(n) / "events.jsonl", new=True, disk=disk) for n in range(40)]
    for line in (b"x\n", b"y\n", b"z\n"):
        async with anyio.create_task_group() as tasks:
            for file in files:
                if together:
                    tasks.start_soon(commit, writer, file, line)
                else:
                    await commit(writer, file, line)
    assert (disk.most, len(disk.open_now)) == (4, 4)
    assert disk.opened == 120
    for _ in range(5):
        await commit(writer, files[-1], b"-\n")
    assert disk.opened == 120, "one that is in use stays open"
    await writer.sync_file(files[-1], close=True)
    assert len(disk.open_now) == 3
    await writer.close()
    assert all(file.path.read_bytes() == b"x\ny\nz\n" for file in files[:-1])
    assert all(file.written == file.synced for file in files)


async def test_a_file_whose_close_fails_fails_alone(tmp_path: Path) -> None:
    class Failing(Disk):
        def close(self, descriptor: int) -> None:
            super().close(descriptor)
            raise OSError(errno.EIO, "the close failed")

    writer = Writer(tmp_path)
    bad = LogFile(tmp_path / "bad" / "events.jsonl", new=True, disk=Failing())
    good = LogFile(tmp_path / "good" / "events.jsonl", new=True)
    await commit(writer, bad, b"x\n")
    with pytest.raises(LogFailed, match="the close failed"):
        await writer.sync_file(bad, close=True)
    await commit(writer, good, b"x\n")
    await writer.close()


async def test_the_files_are_private(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    file = LogFile(tmp_path / "c" / "events.jsonl", new=True)
    await commit(writer, file, b"x\n")
    await writer.close()
    assert os.stat(file.path).st_mode & 0o077 == 0


async def test_a_bug_after_one_commit_keeps_no_other_from_its_word(tmp_path: Path) -> None:
    problems: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context["message"]))
    writer = Writer(tmp_path)
    bad, good = (LogFile(tmp_path / name / "events.jsonl", new=True) for name in ("bad", "good"))

    def fail(error: LogFailed | None) -> None:
        raise ZeroDivisionError

    writer.commit(bad, b"x\n", 1, fail)
    await commit(writer, good, b"x\n")
    await writer.close()
    assert problems == [f"after a commit of {bad.path}"]
