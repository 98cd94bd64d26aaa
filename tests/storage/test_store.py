"""The store: journals, recovery, locks, blobs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from agentrt.errors import ConfigurationError, ConversationExists, ConversationMissing, LogCorrupt, LogLocked
from agentrt.events import Event
from agentrt.listing import Filter
from agentrt.storage import FileStore, conversations, read_conversation
from agentrt.storage.blobs import read_blob
from agentrt.workspaces.tree_store import TreeStore
from tests import samples
from tests.stores import directory

from .commits import append, reopen

pytestmark = pytest.mark.simulated


async def write(store: FileStore, name: str, count: int) -> list[Event]:
    """A conversation with `count` messages in batches of one."""
    journal = await store.create(name)
    first = samples.numbered(samples.beginning())
    await append(journal, first)
    rest = samples.numbered([samples.message(str(n)) for n in range(count)], 3)
    for event in rest:
        await append(journal, [event])
    await store.release(name)
    return [*first, *rest]


async def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        written = await write(store, "c", 5)
        journal, read = await reopen(store, "c")
        assert read == written
        assert [e async for e in journal.read(3, 6)] == written[3:6]
        assert [e async for e in journal.read(0, 99)] == written
    assert read_conversation(tmp_path / "conversations" / "c") == written


async def test_a_long_log_is_read_a_page_at_a_time(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        journal = await store.create("c")
        events = samples.numbered([*samples.beginning(), *(samples.message(str(n)) for n in range(1000))])
        await append(journal, events)
        assert [e.seq async for e in journal.read(100, 900)] == list(range(101, 901))


async def test_a_torn_tail_is_set_aside_and_the_log_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with FileStore(tmp_path) as store:
        written = await write(store, "c", 2)
        path = directory(store, "c") / "events.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"i":1,"n":2,"du')
        journal, read = await reopen(store, "c")
        assert read == written
        assert path.read_bytes() == whole
        assert path.with_name("events.jsonl.torn-1").read_bytes() == b'{"i":1,"n":2,"du'
        assert f"set aside in {path}.torn-1" in caplog.text
        await append(journal, samples.numbered([samples.message("on")], 5))
    assert len(read_conversation(tmp_path / "conversations" / "c")) == 5


async def test_a_damaged_log_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        await write(store, "c", 4)
        path = directory(store, "c") / "events.jsonl"
        damaged = path.read_bytes().replace(b'"text":"0"', b'"text":"9"')
        path.write_bytes(damaged)
        for _ in range(2):
            with pytest.raises(LogCorrupt, match=r"events\.jsonl:3:"):
                await store.open("c", lambda event: None)
        assert path.read_bytes() == damaged
        with pytest.raises(LogCorrupt):
            read_conversation(path.parent)


async def test_what_comes_before_a_damage_can_be_read(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        written = await write(store, "c", 6)
        path = directory(store, "c") / "events.jsonl"
        path.write_bytes(path.read_bytes().replace(b'"text":"4"', b'"text":"9"'))
        assert [event async for event in store.history("c").read(0, 4)] == written[:4]
        with pytest.raises(LogCorrupt):
            await store.history("c").last()


async def test_a_lazy_store_that_is_only_read_leaves_nothing(tmp_path: Path) -> None:
    async with FileStore(tmp_path / "store", lazy=True) as store:
        assert await store.listing.page() == []
        assert await store.listing.search("pelican") == []
        assert await store.listing.count() == await store.listing.count(Filter()) == 0
        assert await store.shelf.get("keys", "keys") is None
        with pytest.raises(ConversationMissing):
            await store.history("c").last()
    assert not (tmp_path / "store").exists()


async def test_there_is_one_writer_in_a_process(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store, FileStore(tmp_path) as other:
        await write(store, "c", 1)
        await store.open("c", lambda event: None)
        for same in (store, other):
            with pytest.raises(LogLocked, match="open elsewhere"):
                await same.open("c", lambda event: None)
            with pytest.raises(ConversationExists):
                await same.create("c")
        await store.release("c")
        await other.open("c", lambda event: None)


@pytest.mark.real
async def test_there_is_one_writer_among_processes_and_a_dead_one_frees_its_locks(tmp_path: Path) -> None:
    hold = (
        "import anyio, sys\n"
        "from pathlib import Path\n"
        "from agentrt.storage import FileStore\n"
        "async def main():\n"
        "    async with FileStore(Path(sys.argv[1])) as store:\n"
        "        await store.open('c', lambda event: None)\n"
        "        print('held', flush=True)\n"
        "        await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    async with FileStore(tmp_path) as store:
        await write(store, "c", 1)
        await write(store, "d", 1)
        async with await anyio.open_process([sys.executable, "-c", hold, str(tmp_path)]) as holder:
            assert holder.stdout is not None
            assert (await holder.stdout.receive()).startswith(b"held")
            with pytest.raises(LogLocked):
                await store.open("c", lambda event: None)
            await store.open("d", lambda event: None)
            holder.kill()
        await store.open("c", lambda event: None)


async def test_names_and_absences_are_said(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        with pytest.raises(ConversationMissing, match="agentrt list"):
            await store.open("nobody", lambda event: None)
        await write(store, "c", 0)
        with pytest.raises(ConversationExists):
            await store.create("c")
        for name in ("../c", "", "a/b", ".hidden", "x" * 200):
            with pytest.raises(ConfigurationError, match="not a conversation id"):
                await store.create(name)
    with pytest.raises(ConversationMissing):
        read_conversation(tmp_path / "nowhere")


async def test_conversations_are_listed_newest_first(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        for age, name in enumerate(("b", "c", "a")):
            await write(store, name, 0)
            os.utime(directory(store, name) / "events.jsonl", (1000 + age, 1000 + age))
        assert [path.name for path in conversations(tmp_path)] == ["a", "c", "b"]


async def test_a_blob_is_kept_once_by_its_hash(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        journal = await store.create("c")
        await append(journal, samples.numbered(samples.beginning()))
        kept = await journal.keep(b"all of it", "full output")
        assert kept == await journal.keep(b"all of it", "full output")
        blobs = directory(store, "c") / "blobs"
        assert [path.name for path in blobs.iterdir()] == [kept.sha256]
        assert read_blob(blobs, kept.sha256) == b"all of it"
        (blobs / kept.sha256).write_bytes(b"something else")
        with pytest.raises(ValueError, match="damaged"):
            read_blob(blobs, kept.sha256)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
async def test_only_its_owner_may_enter_a_store(tmp_path: Path) -> None:
    async with FileStore(tmp_path / "above" / "store") as store:
        await write(store, "c", 1)
        made = directory(store, "c")
        assert [mode(path) for path in (made, *made.parents[:3])] == [0o700] * 4
        assert not [path for path in (tmp_path / "above/store").rglob("*") if mode(path) & 0o077]


async def test_a_store_that_others_could_read_is_closed_to_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FileStore(tmp_path / "store") as store:
        await write(store, "c", 1)
    for path in (tmp_path / "store", tmp_path / "store/conversations"):
        path.chmod(0o755)
    async with FileStore(tmp_path / "store"):
        pass
    assert [mode(path) for path in (tmp_path / "store", tmp_path / "store/conversations")] == [0o700] * 2
    assert not caplog.records


@pytest.mark.parametrize(
    ("bits", "why"),
    [(0o1777, "it is for the temporary files of all users"), (0o755, "it is, or is above, the working directory")],
)
async def test_a_directory_that_others_need_is_left_and_that_is_said(
    tmp_path: Path, bits: int, why: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not bits & stat.S_ISVTX:
        monkeypatch.chdir(tmp_path)
    tmp_path.chmod(bits)
    async with FileStore(tmp_path) as store:
        await write(store, "c", 1)
    assert (mode(tmp_path), mode(tmp_path / "conversations")) == (bits, 0o700)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"other users can read {tmp_path}, a directory of the store, and it is left so: {why}")


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="only root acts as two users")
async def test_another_user_reads_nothing_of_a_store() -> None:
    """As root. Git writes objects with the files of a workspace, which all may read."""
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o755)
        async with FileStore(Path(above) / "store") as store:
            await write(store, "c", 1)
            trees = TreeStore(store.beside("c"))
            name = (await trees.git("hash-object", "-w", "--stdin", given=b"a secret")).output.decode().strip()
            (made,) = Path(store.beside("c")).rglob(name[2:])
        assert mode(made) == 0o444
        for bits in (0o700, 0o755):  # the directory of the conversation is closed, too
            (Path(above) / "store").chmod(bits)
            (Path(above) / "store/conversations").chmod(bits)
            done = subprocess.run(["cat", str(made)], capture_output=True, user=65534, group=65534, extra_groups=[])
            assert b"Permission denied" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root acts as two users")
async def test_a_store_of_another_user_is_left_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with tempfile.TemporaryDirectory() as above:
        os.chown(above, 65534, 65534)
        os.chmod(above, 0o755)
        async with FileStore(Path(above)):
            pass
        assert mode(Path(above)) == 0o755
    assert "it is left so: it belongs to another user" in caplog.text
