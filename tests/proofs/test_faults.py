"""Real faults, one conversation's or the whole store's: nothing acknowledged is lost, and the others go on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import anyio
import msgspec
import pytest

from agentrt.storage import read_conversation

from . import committer, host, system_calls
from .evidence import RUN_SECONDS, check_numbering
from .host import ATTEMPTS, ENDED

pytestmark = pytest.mark.real

PROJECT = Path(__file__).parent.parent.parent

BAD = "bad"
GOOD = ("good-1", "good-2", "good-3")
COUNT = 20

NO_SPACE, READ_ONLY, BROKEN = "No space left on device", "Read-only file system", "Input/output error"


class Told(msgspec.Struct, frozen=True):
    """What a host said: the last seq acknowledged in each conversation, and each failure in its order."""

    acknowledged: dict[str, list[int]]
    failures: dict[str, list[str]]
    ended: bool


def parse(output: str) -> Told:
    """Read what a host said. After a failure a log is opened again, and more may be acknowledged."""
    told = Told({}, {}, output.splitlines()[-1:] == [ENDED])
    for name, what, *rest in (line.split(" ", 2) for line in output.splitlines() if " " in line):
        if what == "failed":
            told.failures.setdefault(name, []).extend(rest)
        else:
            told.acknowledged.setdefault(name, []).append(int(what))
    return told


def command(store: Path, *names: str, count: int = COUNT, size: int = 100) -> list[str]:
    """A host's command line."""
    sizes = ["--count", str(count), "--size", str(size)]
    return [sys.executable, "-m", host.__name__, str(store), *names, *sizes]


async def hosted(store: Path, *names: str, count: int = COUNT, size: int = 100, prefix: Sequence[str] = ()) -> Told:
    """Run a host to its end, which it must reach, and check what it left."""
    given = [*prefix, *command(store, *names, count=count, size=size)]
    with anyio.fail_after(RUN_SECONDS):
        ended = await anyio.run_process(given, cwd=PROJECT, stderr=None, check=False)
    told = parse(ended.stdout.decode())
    assert (ended.returncode, told.ended) == (0, True), "the process did not live"
    check_kept(store, told)
    return told


def check_kept(store: Path, told: Told) -> None:
    """Law: all that was acknowledged is there."""
    for name, seqs in told.acknowledged.items():
        assert seqs == sorted(set(seqs))
        events = read_conversation(store / "conversations" / name)
        check_numbering(events)
        assert len(events) >= seqs[-1]


def check_only_bad(told: Told, why: str, *, count: int = COUNT) -> None:
    """Law: the others are not touched, and the one that failed says so each time."""
    assert [told.acknowledged[name][-1] for name in GOOD] == [count + 2] * len(GOOD)
    assert set(told.failures) == {BAD}
    tried, failed = len(told.acknowledged.get(BAD, ())), len(told.failures[BAD])
    healed = failed <= ATTEMPTS and tried + failed == count
    assert healed or failed == 1 + ATTEMPTS or (failed, tried) == (1, 0), "once when it cannot be opened"
    assert all(f"{BAD}/events.jsonl: {why}" in failure for failure in told.failures[BAD])


@cache
def why_no_mounts() -> str | None:
    """Why this process cannot mount; None when it can."""
    if os.geteuid() != 0:
        return "only root can mount"
    with tempfile.TemporaryDirectory() as place:
        tried = subprocess.run(["mount", "-t", "tmpfs", "none", place], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            return f"mounting does not work here: {tried.stderr.strip()}"
        subprocess.run(["umount", place], check=True)
    return None


needs_mounts = pytest.mark.skipif(why_no_mounts() is not None, reason=str(why_no_mounts()))
needs_strace = pytest.mark.skipif(system_calls.why_not() is not None, reason=str(system_calls.why_not()))


@contextmanager
def small_file_system(place: Path) -> Iterator[None]:
    """A file system of 1 MB there."""
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Make a directory read-only, also for root."""
    subprocess.run(["mount", "--bind", place, place], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def enlarge(place: Path) -> None:
    """Mend a full file system."""
    subprocess.run(["mount", "-o", "remount,size=16m", place], check=True)


@needs_mounts
async def test_one_conversation_on_a_full_disk(tmp_path: Path) -> None:
    place = tmp_path / "conversations" / BAD
    with small_file_system(place):
        told = await hosted(tmp_path, BAD, *GOOD, count=40, size=40_000)
        check_only_bad(told, NO_SPACE, count=40)
        again = await hosted(tmp_path, BAD, *GOOD, count=1, size=40_000)
        assert set(again.failures) == {BAD}, "still full"
        assert len(list(place.glob("*.torn-*"))) <= 1
        enlarge(place)
        fixed = await hosted(tmp_path, BAD, count=40, size=40_000)
        assert fixed.acknowledged[BAD][0] == told.acknowledged[BAD][-1] + 1
        assert (len(fixed.acknowledged[BAD]), fixed.failures) == (40, {})


@pytest.mark.long
@needs_mounts
async def test_a_store_on_a_full_disk(tmp_path: Path) -> None:
    with small_file_system(tmp_path):
        told = await hosted(tmp_path, BAD, *GOOD, size=30_000)
        assert told.failures
        assert all(NO_SPACE in failure for failures in told.failures.values() for failure in failures)
        enlarge(tmp_path)
        fixed = await hosted(tmp_path, BAD, *GOOD, count=3)
        assert not fixed.failures
        for name in (BAD, *GOOD):
            assert fixed.acknowledged[name][0] == told.acknowledged[name][-1] + 1, name


@needs_mounts
@pytest.mark.long
async def test_a_read_only_directory(tmp_path: Path) -> None:
    """Of one that exists, and one that is new: neither is harmed, and both say what is wrong."""
    first = await hosted(tmp_path, BAD)
    place = tmp_path / "conversations" / BAD
    content = (place / "events.jsonl").read_bytes()
    with read_only(place):
        told = await hosted(tmp_path, BAD, *GOOD)
        check_only_bad(told, READ_ONLY)
        assert BAD not in told.acknowledged
        assert (place / "events.jsonl").read_bytes() == content
        new = tmp_path / "conversations" / "new"
        new.mkdir()
        with read_only(new):
            told = await hosted(tmp_path, "new", *GOOD, count=1)
            assert set(told.failures) == {"new"}
            assert READ_ONLY in told.failures["new"][0]
    fixed = await hosted(tmp_path, BAD, count=1)
    assert fixed.acknowledged[BAD][0] == first.acknowledged[BAD][-1] + 1


async def injected(store: Path, faults: Sequence[str], *names: str) -> Told:
    """Run a host in which system calls fail that touch the bad log or the store's directory; each must have failed."""
    log, trace = store.resolve() / "conversations" / BAD / "events.jsonl", store / "trace"
    log.parent.mkdir(parents=True)
    calls = [fault.split(":")[0] for fault in faults]
    words = ["-P", str(log), "-P", str(log.parent.parent), "-e", f"trace={','.join(calls)}"]
    words += (word for fault in faults for word in ("-e", f"inject={fault}"))
    told = await hosted(store, *names, prefix=["strace", "-f", "-qq", "-o", str(trace), *words])
    failed = [line for line in trace.read_text().splitlines() if "(INJECTED)" in line]
    assert all(any(call in line for line in failed) for call in calls), "no fault was met"
    return told


@needs_strace
@pytest.mark.parametrize(
    "fault",
    [
        "fdatasync:error=EIO:when=7",
        pytest.param("fdatasync:error=EIO:when=1", marks=pytest.mark.long),
        pytest.param("write:error=EIO:when=7", marks=pytest.mark.long),
        pytest.param("write:error=EIO:when=1", marks=pytest.mark.long),
        pytest.param("write:error=EIO:when=2+", marks=pytest.mark.long),
    ],
)
async def test_an_error_of_one_file(tmp_path: Path, fault: str) -> None:
    told = await injected(tmp_path, [fault], BAD, *GOOD)
    if fault.endswith("=1"):
        assert BAD not in told.acknowledged
        assert BROKEN in told.failures[BAD][0]
    else:
        check_only_bad(told, BROKEN)
    fixed = await hosted(tmp_path, BAD, count=3)
    assert (len(fixed.acknowledged[BAD]), fixed.failures) == (3, {})


@needs_strace
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(("syncfs:error=EIO", "fdatasync:error=EIO:when=3"), marks=pytest.mark.long),
        pytest.param(("syncfs:error=EIO",), marks=pytest.mark.long),
        pytest.param(("syncfs:error=EIO:when=2", "write:error=EIO:when=9"), marks=pytest.mark.long),
    ],
)
async def test_an_error_of_the_file_system(tmp_path: Path, faults: Sequence[str]) -> None:
    """When the sync of many files fails, each is synced to learn whose error it was."""
    many = [f"many-{number}" for number in range(20)]
    told = await injected(tmp_path, faults, BAD, *GOOD, *many)
    assert all(len(told.acknowledged[name]) == COUNT for name in many)
    if len(faults) > 1:
        check_only_bad(told, BROKEN)
    else:
        assert not told.failures
    fixed = await hosted(tmp_path, BAD, count=3)
    assert (len(fixed.acknowledged[BAD]), fixed.failures) == (3, {})


async def test_a_second_process_is_told_in_one_line_and_waits_for_no_one(tmp_path: Path) -> None:
    async with await anyio.open_process([*command(tmp_path, BAD), "--hold"], cwd=PROJECT, stderr=None) as first:
        assert first.stdout is not None
        said = b""
        with anyio.fail_after(RUN_SECONDS):
            while b"held\n" not in said:
                said += await first.stdout.receive()
        told = await hosted(tmp_path, BAD, *GOOD)
        assert told.failures == {
            BAD: [f"conversation '{BAD}' is open elsewhere: close it there, or read it with 'agentrt show'"]
        }
        assert all(len(told.acknowledged[name]) == COUNT for name in GOOD)
        first.kill()
        await first.wait()
    after = await hosted(tmp_path, BAD, count=3)
    assert after.acknowledged[BAD][0] == parse(said.decode()).acknowledged[BAD][-1] + 1


@pytest.mark.parametrize("journals", [100, pytest.param(300, marks=pytest.mark.long)])
async def test_few_descriptors_serve_many_conversations(tmp_path: Path, journals: int) -> None:
    """64 in all, of which the logs get half."""
    program = [sys.executable, "-m", committer.__name__, str(tmp_path), str(journals)]
    with anyio.fail_after(RUN_SECONDS):
        await anyio.run_process(["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *program], stderr=None, cwd=PROJECT)
    lines = (tmp_path / committer.ACKNOWLEDGED).read_text().splitlines()
    assert len(lines) == journals * committer.BATCHES
    for number in range(journals):
        assert len(read_conversation(tmp_path / "conversations" / f"journal-{number}")) == committer.BATCHES
