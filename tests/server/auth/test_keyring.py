from __future__ import annotations

import os
import stat
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agentrt.errors import ConfigurationError
from agentrt.server.auth import has_keys
from agentrt.server.auth.keyring import Keyring, NoSuchKey
from agentrt.server.principals import Scope
from agentrt.storage.shelf import FileShelf
from tests import programs
from tests.stores import keyring as keyring_of

pytestmark = pytest.mark.simulated


def id_of(text: str) -> str:
    return text.split("_")[1]


async def test_two_processes_see_the_same_keys(tmp_path: Path) -> None:
    one, other = keyring_of(tmp_path), keyring_of(tmp_path)
    key = id_of(await one.create("ada", [Scope.STEER]))
    assert not other.is_good(key)
    await other.look()
    assert other.is_good(key)
    await other.revoke(key)
    assert one.is_good(key)
    await one.look()
    assert not one.is_good(key)
    assert one.closed
    assert other.closed


async def test_the_file_is_for_its_owner_alone_and_replaced_as_a_whole(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keyring = keyring_of(tmp_path / "store")
        await keyring.create("ada", [Scope.STEER])
        first = (tmp_path / "store" / "keys.json").stat()
        await keyring.create("bob", [Scope.STEER])
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "store").iterdir()}
    assert modes == {"keys.json": 0o600, "keys.lock": 0o600}
    assert (tmp_path / "store" / "keys.json").stat().st_ino != first.st_ino


@pytest.mark.real
async def test_of_keys_that_are_made_at_once_none_is_lost(tmp_path: Path) -> None:
    program = (
        "import anyio, sys; from pathlib import Path; from tests.stores import make_key;"
        "from agentrt.server.principals import Scope;"
        "[anyio.run(make_key, Path(sys.argv[1]), 'ada', [Scope.STEER]) for _ in range(20)]"
    )
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(
                anyio.to_thread.run_sync,
                lambda: programs.run("-c", program, str(tmp_path), directory=tmp_path, environment=os.environ),
            )
    keyring = keyring_of(tmp_path)
    await keyring.look()
    assert len(keyring.keys) == 60


async def test_a_store_that_had_keys_is_never_open_again(tmp_path: Path) -> None:
    keyring = keyring_of(tmp_path)
    assert not keyring.closed
    await keyring.revoke(id_of(await keyring.create("ada", [Scope.ADMIN])))
    other = keyring_of(tmp_path)
    await other.look()
    assert other.closed
    assert not await has_keys(FileShelf(tmp_path))
    (tmp_path / "keys.json").unlink()
    await other.look()
    assert other.closed, "the file is gone, and nobody is let in"


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 2}', b'{"keys": [{"id": 1}]}', b"\xff"])
async def test_what_cannot_be_read_lets_nobody_in(tmp_path: Path, content: bytes) -> None:
    keyring = keyring_of(tmp_path)
    key = id_of(await keyring.create("ada", [Scope.STEER]))
    (tmp_path / "keys.json").write_bytes(content)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"keys\.json"):
            await keyring.look()
        assert not keyring.is_good(key)
        assert keyring.closed
    with pytest.raises(ConfigurationError, match=r"keys\.json"):
        await keyring.create("ada", [Scope.STEER])
    assert (tmp_path / "keys.json").read_bytes() == content


async def test_a_file_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    keyring = keyring_of(tmp_path)
    await keyring.create("ada", [Scope.STEER])
    (tmp_path / "keys.json").chmod(0o666)
    with pytest.raises(ConfigurationError, match="others may write"):
        await has_keys(FileShelf(tmp_path))


async def test_a_key_expires(tmp_path: Path) -> None:
    now = [1000.0]
    keyring = Keyring(FileShelf(tmp_path), lambda: now[0])
    key = id_of(await keyring.create("ada", [Scope.STEER], days=1))
    now[0] += 86399
    assert keyring.is_good(key)
    now[0] += 1
    assert not keyring.is_good(key)


async def test_a_key_that_is_not_there_cannot_be_revoked(tmp_path: Path) -> None:
    with pytest.raises(NoSuchKey, match="unknown key 'x'"):
        await keyring_of(tmp_path).revoke("x")


async def test_a_key_stays_revoked_at_the_time_of_the_first(tmp_path: Path) -> None:
    now = [1000.0]
    keyring = Keyring(FileShelf(tmp_path), lambda: now[0])
    key = id_of(await keyring.create("ada", [Scope.STEER]))
    await keyring.revoke(key)
    now[0] += 5
    await keyring.revoke(key)
    assert keyring.keys[key].revoked == 1000.0
