"""The key of a user."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentrt.errors import ConfigurationError
from agentrt.secrets import Cipher, KeyFile

pytestmark = pytest.mark.simulated


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    file = KeyFile.of(tmp_path)
    assert file.read() is None
    sealed = file.make().encrypt("value", "place")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert file.make().decrypt(sealed, "place") == "value"
    assert KeyFile.paths(tmp_path) == (str(file.path),)
    assert KeyFile.paths(None) == ()


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "has no key"), (b"short", "is not 32 bytes"), (b"\xff\xfe", "cannot be read")]
)
def test_what_is_no_key_says_so(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=says):
        KeyFile(path).read()


def test_one_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = KeyFile.of(tmp_path)
    file.path.parent.mkdir(parents=True)
    file.path.write_text(Cipher.new_key())
    file.path.chmod(0o644)
    with pytest.raises(ConfigurationError, match="others can read"):
        file.read()
    assert KeyFile(file.path).read() is not None, "where it was named, that is its owner's affair"
