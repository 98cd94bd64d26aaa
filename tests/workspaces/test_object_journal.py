"""Objects are durable in the journal, get files when git needs them, and survive a crash."""

from __future__ import annotations

import resource
import zlib
from hashlib import sha1
from pathlib import Path

import pytest

from agentrt.workspaces import object_journal
from agentrt.workspaces.object_journal import JOURNAL, ObjectJournal, file_of, replay
from agentrt.workspaces.tree_store import TreeStore

pytestmark = pytest.mark.simulated


def journal_in(directory: Path) -> ObjectJournal:
    (directory / "objects").mkdir(parents=True, exist_ok=True)
    return ObjectJournal(directory)


def blob(data: bytes) -> tuple[str, bytes]:
    """The id and the compressed bytes of a blob."""
    whole = b"blob %d\0%s" % (len(data), data)
    return sha1(whole).hexdigest(), zlib.compress(whole, 1)


ONE, TWO = blob(b"one"), blob(b"two" * 100)


def test_an_object_has_no_file_before_one_is_needed(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.append(dict([ONE]))
    journal.append(dict([TWO]))
    assert ONE[0] in journal
    assert (journal.read(ONE[0]), journal.read(TWO[0])) == (ONE[1], TWO[1])
    assert not file_of(tmp_path, ONE[0]).exists()
    journal.write_files()
    assert [file_of(tmp_path, name).read_bytes() for name in (ONE[0], TWO[0])] == [ONE[1], TWO[1]]
    assert ONE[0] not in journal
    assert journal.read(ONE[0]) is None


def test_files_are_written_once(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.append(dict([ONE]))
    journal.write_files()
    file_of(tmp_path, ONE[0]).unlink()
    journal.append(dict([TWO]))
    journal.write_files()
    assert not file_of(tmp_path, ONE[0]).exists()
    assert file_of(tmp_path, TWO[0]).exists()


def test_a_reader_sees_what_a_writer_has_appended_since(tmp_path: Path) -> None:
    writer, reader = journal_in(tmp_path), journal_in(tmp_path)
    for one in (ONE, TWO):
        writer.append(dict([one]))
        reader.write_files()
        assert file_of(tmp_path, one[0]).exists()
    writer.settle()
    three = blob(b"three")
    writer.append(dict([three]))
    reader.write_files()
    assert file_of(tmp_path, three[0]).exists()


def test_what_a_crash_has_lost_is_written_again(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.append(dict([ONE, TWO]))
    journal.write_files()
    files = [file_of(tmp_path, name) for name in (ONE[0], TWO[0])]
    files[0].unlink()
    files[1].chmod(0o600)
    files[1].write_bytes(b"")
    journal_in(tmp_path).write_files()
    assert [file.read_bytes() for file in files] == [ONE[1], TWO[1]]
    journal_in(tmp_path).settle()
    assert not (tmp_path / JOURNAL).exists()


def test_what_a_crash_has_filled_with_nothing_is_written_again(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.append(dict([ONE]))
    journal.write_files()
    file = file_of(tmp_path, ONE[0])
    file.chmod(0o600)
    file.write_bytes(bytes(len(ONE[1])))
    replay(tmp_path)
    assert file.read_bytes() == ONE[1]


def test_a_journal_that_could_not_be_written_to_its_end_is_as_before(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.append(dict([ONE]))
    before = (tmp_path / JOURNAL).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            journal.append(dict([TWO]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / JOURNAL).read_bytes() == before
    assert TWO[0] not in journal
    journal.append(dict([TWO]))
    assert journal.read(TWO[0]) == TWO[1]


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_a_journal_that_was_cut_has_what_came_before(tmp_path: Path, cut: int) -> None:
    journal = journal_in(tmp_path)
    journal.append(dict([ONE]))
    whole = (tmp_path / JOURNAL).stat().st_size
    journal.append(dict([TWO]))
    data = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(data[: whole + cut])
    journal_in(tmp_path).write_files()
    assert file_of(tmp_path, ONE[0]).exists()
    assert not file_of(tmp_path, TWO[0]).exists()


def test_a_long_journal_is_settled(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.append(dict([ONE]))
    with (tmp_path / JOURNAL).open("ab") as file:
        file.truncate(object_journal.MOST_UNSYNCED)
    journal.append(dict([TWO]))
    assert not (tmp_path / JOURNAL).exists()
    assert file_of(tmp_path, ONE[0]).exists()


async def test_a_fork_of_a_fork_has_what_the_first_has_only_in_its_journal(tmp_path: Path) -> None:
    directories = [str(tmp_path / name) for name in "abc"]
    origins = [(), (directories[0],), (directories[1],)]
    stores = [TreeStore(one, of) for one, of in zip(directories, origins, strict=True)]
    for one in stores:
        await one.prepare(writes=True)
    first = stores[0].objects()
    name = first.blob(b"one")
    first.flush()
    again = TreeStore(directories[2], origins[2])
    await again.prepare()
    assert file_of(tmp_path / "a", name).exists()
