"""Logs looked over and fixed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.errors import ConfigurationError, ConversationMissing, LogCorrupt, LogLocked
from agentrt.events import ConversationCreated, Event
from agentrt.snapshot import Snapshot
from agentrt.specs import BlobReference
from agentrt.state import fold
from agentrt.storage import FileStore, read_conversation
from agentrt.storage.blobs import write_blob
from agentrt.storage.checking import repair, verify
from agentrt.storage.framing import frame
from agentrt.storage.lineage import adopt
from agentrt.storage.snapshots import SNAPSHOT, write_snapshot
from tests import samples

pytestmark = pytest.mark.simulated


def write(store: Path, *batches: Sequence[Event], name: str = "c") -> Path:
    """A conversation's directory, with a log of these batches, each durable before the next."""
    directory = store / "conversations" / name
    directory.mkdir(parents=True)
    lines: list[bytes] = []
    for batch in batches:
        lines.extend(frame(samples.numbered(batch, len(lines) + 1), durable=len(lines)))
    (directory / "events.jsonl").write_bytes(b"".join(lines))
    return directory


def five(store: Path) -> Path:
    """A log of a first batch of two and three messages."""
    return write(store, list(samples.beginning()), *([samples.message(f"m{n}")] for n in range(3)))


def damage(directory: Path, line: int) -> bytes:
    """Change a letter in a line; the log as it is then."""
    path = directory / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b'"type"', b'"tyqe"', 1)
    path.write_bytes(b"".join(lines))
    return path.read_bytes()


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_a_whole_log_is_sound(tmp_path: Path) -> None:
    directory = five(tmp_path)
    before = files(directory)
    verdict = verify(directory)
    assert verdict.sound
    assert (verdict.events, verdict.length) == (5, len(before["events.jsonl"]))
    assert files(directory) == before
    with pytest.raises(ConversationMissing):
        verify(tmp_path / "conversations" / "nobody")


def test_a_torn_tail_has_a_place(tmp_path: Path) -> None:
    directory = five(tmp_path)
    path = directory / "events.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"i":1,"n":2,"du')
    verdict = verify(directory)
    assert (verdict.sound, verdict.damage) == (False, None)
    assert (verdict.events, verdict.length, verdict.torn) == (5, len(whole), 16)


def test_damage_has_a_line_and_a_cause(tmp_path: Path) -> None:
    directory = five(tmp_path)
    path = directory / "events.jsonl"
    whole = path.read_bytes()
    damage(directory, 4)
    found = verify(directory).damage
    assert found is not None
    assert str(found).startswith(f"{path}:4: record 4 is damaged, though record 5 says that it was durable")
    assert found.reason.endswith(": its checksum does not match")
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], lines[4]]))
    verdict = verify(directory)
    assert verdict.damage is not None
    assert verdict.damage.reason.endswith(": record 4 was to be here, and this is record 5, 1 of 1")
    assert (verdict.events, verdict.torn) == (3, 0)
    path.write_bytes(b"".join([*lines[:3], b"{}\n", lines[4]]))
    assert str(verify(directory).damage).endswith("it does not end as a record does")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_it_says_what_opening_would(tmp_path: Path, data: st.DataObject) -> None:
    """However a file is cut or changed."""
    directory = tmp_path / "conversations" / "c"
    if not directory.exists():
        five(tmp_path)
        (tmp_path / "whole").write_bytes((directory / "events.jsonl").read_bytes())
    log = bytearray((tmp_path / "whole").read_bytes())
    for _ in range(data.draw(st.integers(0, 2))):
        log[data.draw(st.integers(0, len(log) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = bytes(log[: data.draw(st.integers(0, len(log)))])
    (directory / "events.jsonl").write_bytes(cut)
    verdict = verify(directory)
    if verdict.damage is not None:
        with pytest.raises(LogCorrupt) as refused:
            read_conversation(directory)
        assert (refused.value.line, verdict.torn) == (verdict.damage.line, 0)
    else:
        assert verdict.events == len(read_conversation(directory))
        assert verdict.length + verdict.torn == len(cut)


def test_a_record_that_is_no_event_of_this_schema_is_told(tmp_path: Path) -> None:
    created, prompt = samples.beginning()
    directory = write(tmp_path, [created, prompt], [samples.message()])
    path = directory / "events.jsonl"
    first, second, third = path.read_bytes().splitlines(keepends=True)
    body = third[: third.rindex(b',"crc"')].replace(b'"content":[', b'"content":[7,')
    path.write_bytes(first + second + body + b',"crc":"%08x"}\n' % crc32(body))
    verdict = verify(directory)
    assert verdict.damage is not None
    assert verdict.damage.line == 3
    assert "not an event of this schema" in verdict.damage.reason
    headless = write(tmp_path, [samples.message()], name="d")
    assert "begins with ConversationCreated" in str(verify(headless).damage)


def test_blobs_are_looked_at(tmp_path: Path) -> None:
    kept = [
        write_blob(tmp_path, b"one", "x"),
        write_blob(tmp_path, b"two", "y"),
        BlobReference("0" * 64, 3),
    ]
    said = [replace(samples.message(), content=(blob,)) for blob in kept]
    directory = write(tmp_path, list(samples.beginning()), [*said, said[0]])
    blobs = directory / "blobs"
    blobs.mkdir()
    for blob in kept[:2]:
        (tmp_path / blob.sha256).rename(blobs / blob.sha256)
    verdict = verify(directory)
    assert (verdict.blobs, verdict.sound) == (2, False)
    assert [str(damage) for damage in verdict.missing] == [f"{verdict.path}:5: blob {'0' * 64} is missing"]
    (blobs / kept[1].sha256).write_bytes(b"TWO")
    reasons = [damage.reason for damage in verify(directory).missing]
    assert reasons == [f"blob {kept[1].sha256} is damaged", f"blob {'0' * 64} is missing"]


def fork(store: Path, parent: Path, upto: int) -> Path:
    """A conversation that shares the first events of another one, and goes on by itself."""
    directory = store / "conversations" / "fork"
    directory.mkdir()
    created = samples.beginning()[0]
    assert isinstance(created, ConversationCreated)
    own = samples.numbered([replace(created, conversation_id="fork", parent=parent.name), samples.message()], upto + 1)
    (directory / "events.jsonl").write_bytes(b"".join(frame(own, durable=upto)))
    return directory


def test_a_fork_needs_the_records_of_its_parent(tmp_path: Path) -> None:
    parent = five(tmp_path)
    child = fork(tmp_path, parent, 4)
    verdict = verify(child)
    assert (verdict.sound, verdict.after, verdict.events) == (True, 4, 2)
    damage(parent, 5)
    assert verify(child).sound, "what comes after the fork is not its own"
    damage(parent, 4)
    assert str(verify(child).missing[0]).endswith("are those of conversation c, of which 3 are whole")
    (parent / "events.jsonl").unlink()
    assert str(verify(child).missing[0]).endswith("are those of conversation c, which is not there")


def test_what_a_fork_shares_is_not_cut(tmp_path: Path) -> None:
    """The parent would go on with other events, and they would become the fork's."""
    parent = five(tmp_path)
    fork(tmp_path, parent, 4)
    adopt(parent, "fork")
    damaged = damage(parent, 4)
    with pytest.raises(LogCorrupt, match="record 4 is damaged.*, in what fork fork shares"):
        repair(parent, force=True)
    assert files(parent) == {"events.jsonl": damaged}
    shutil.rmtree(tmp_path / "conversations" / "fork")
    assert repair(parent, force=True).events == 3


@pytest.mark.real
def test_a_long_log_is_not_held_in_memory(tmp_path: Path) -> None:
    """60 MB of it, in a process that may have 30 MB more than it has at the beginning."""
    text = "x" * 100_000
    directory = write(tmp_path, list(samples.beginning()), *([samples.message(text)] for _ in range(600)))
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from agentrt.storage.checking import verify\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert verify(Path(sys.argv[1])).events == 602\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(directory)], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(ran.stdout) < 30_000, "KiB"


def test_a_torn_tail_is_set_aside(tmp_path: Path) -> None:
    directory = five(tmp_path)
    path = directory / "events.jsonl"
    whole = path.read_bytes()
    for number in (1, 2):
        path.write_bytes(whole + b"half")
        done = repair(directory)
        assert (done.events, done.cut, done.kept, done.whole) == (
            5,
            4,
            path.with_name(f"{path.name}.torn-{number}"),
            False,
        )
        assert done.kept is not None
        assert done.kept.read_bytes() == b"half"
        assert path.read_bytes() == whole
    assert repair(directory).kept is None
    assert verify(directory).sound


def test_damage_is_left_alone_unless_forced(tmp_path: Path) -> None:
    directory = five(tmp_path)
    damaged = damage(directory, 4)
    write_snapshot(directory, Snapshot(seq=5))
    before = files(directory)
    with pytest.raises(LogCorrupt, match=r"events\.jsonl:4:"):
        repair(directory)
    assert files(directory) == before
    done = repair(directory, force=True)
    assert done.kept == directory / "events.jsonl.corrupt-1"
    assert done.kept.read_bytes() == damaged
    assert (done.events, done.whole) == (3, True)
    *kept, epoch = read_conversation(directory)
    assert damaged.startswith(b"".join((directory / "events.jsonl").read_bytes().splitlines(keepends=True)[:3]))
    assert (len(kept), fold([*kept, epoch]).epoch) == (3, 1), "what someone saw is gone"
    assert verify(directory).sound
    assert not (directory / SNAPSHOT).exists()


def test_a_batch_is_cut_whole(tmp_path: Path) -> None:
    batch: list[Event] = [samples.message(f"m{n}") for n in range(3)]
    directory = write(tmp_path, list(samples.beginning()), batch, [samples.message()])
    damage(directory, 4)
    assert repair(directory, force=True).events == 2


def test_where_nothing_would_remain_nothing_is_done(tmp_path: Path) -> None:
    directory = five(tmp_path)
    damaged = damage(directory, 1)
    for force in (False, True):
        with pytest.raises(LogCorrupt, match="no whole batch is before it") as no:
            repair(directory, force=force)
        assert "--force" not in str(no.value), "it would not help"
        assert "delete the conversation" in str(no.value)
    assert files(directory) == {"events.jsonl": damaged}


async def test_a_conversation_that_is_written_is_not_mended(tmp_path: Path) -> None:
    directory = five(tmp_path)
    async with FileStore(tmp_path) as store:
        await store.open("c", lambda event: None)
        path = directory / "events.jsonl"
        path.write_bytes(path.read_bytes() + b"half")
        before = files(directory)
        with pytest.raises(LogLocked):
            repair(directory)
        assert files(directory) == before
        await store.release("c")
        assert repair(directory).cut == 4
        await store.open("c", lambda event: None)  # the lock was given back


def test_outside_of_a_store_there_is_no_lock_and_no_repair(tmp_path: Path) -> None:
    directory = five(tmp_path).rename(tmp_path / "copy")
    assert verify(directory).sound
    with pytest.raises(ConfigurationError, match="conversations"):
        repair(directory)
    assert not (tmp_path.parent / "lock").exists()
