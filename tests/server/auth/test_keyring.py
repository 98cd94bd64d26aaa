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
from tests import programs


def id_of(text: str) -> str:
    return text.split("_")[1]


def test_two_processes_see_the_same_keys(tmp_path: Path) -> None:
    one, other = Keyring(tmp_path), Keyring(tmp_path)
    key = id_of(one.create("ada", [Scope.STEER]))
    assert not other.is_good(key)
    other.look_now()
    assert other.is_good(key)
    other.revoke(key)
    assert one.is_good(key)
    one.look_now()
    assert not one.is_good(key)
    assert one.closed
    assert other.closed


def test_the_file_is_for_its_owner_alone_and_replaced_as_a_whole(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keyring = Keyring(tmp_path / "store")
        keyring.create("ada", [Scope.STEER])
        first = keyring.path.stat()
        keyring.create("bob", [Scope.STEER])
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "store").iterdir()}
    assert modes == {"keys.json": 0o600, "keys.lock": 0o600}
    assert keyring.path.stat().st_ino != first.st_ino


async def test_of_keys_that_are_made_at_once_none_is_lost(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from agentrt.server.auth.keyring import Keyring;"
        "from agentrt.server.principals import Scope;"
        "[Keyring(Path(sys.argv[1])).create('ada', [Scope.STEER]) for _ in range(20)]"
    )
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(
                anyio.to_thread.run_sync,
                lambda: programs.run("-c", program, str(tmp_path), directory=tmp_path, environment=os.environ),
            )
    keyring = Keyring(tmp_path)
    keyring.look_now()
    assert len(keyring.keys) == 60


def test_a_store_that_had_keys_is_never_open_again(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    assert not keyring.closed
    keyring.revoke(id_of(keyring.create("ada", [Scope.ADMIN])))
    other = Keyring(tmp_path)
    other.look_now()
    assert other.closed
    assert not has_keys(tmp_path)
    other.path.unlink()
    other.look_now()
    assert other.closed, "the file is gone, and nobody is let in"


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 2}', b'{"keys": [{"id": 1}]}', b"\xff"])
def test_what_cannot_be_read_lets_nobody_in(tmp_path: Path, content: bytes) -> None:
    keyring = Keyring(tmp_path)
    key = id_of(keyring.create("ada", [Scope.STEER]))
    keyring.path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"keys\.json"):
            keyring.look_now()
        assert not keyring.is_good(key)
        assert keyring.closed
    with pytest.raises(ConfigurationError, match=r"keys\.json"):
        keyring.create("ada", [Scope.STEER])
    assert keyring.path.read_bytes() == content


def test_a_file_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    keyring.create("ada", [Scope.STEER])
    keyring.path.chmod(0o666)
    with pytest.raises(ConfigurationError, match="others may write"):
        has_keys(tmp_path)


def test_a_key_expires(tmp_path: Path) -> None:
    now = [1000.0]
    keyring = Keyring(tmp_path, lambda: now[0])
    key = id_of(keyring.create("ada", [Scope.STEER], days=1))
    now[0] += 86399
    assert keyring.is_good(key)
    now[0] += 1
    assert not keyring.is_good(key)


def test_a_key_that_is_not_there_cannot_be_revoked(tmp_path: Path) -> None:
    with pytest.raises(NoSuchKey, match="there is no key 'x'"):
        Keyring(tmp_path).revoke("x")


def test_a_key_stays_revoked_at_the_time_of_the_first(tmp_path: Path) -> None:
    now = [1000.0]
    keyring = Keyring(tmp_path, lambda: now[0])
    key = id_of(keyring.create("ada", [Scope.STEER]))
    keyring.revoke(key)
    now[0] += 5
    keyring.revoke(key)
    assert keyring.keys[key].revoked == 1000.0
