"""`agentrt keys`, as a process."""

from __future__ import annotations

import json
import re
from pathlib import Path

import anyio
import pytest

from agentrt.cli.keys import SCOPES
from agentrt.server.auth import has_keys
from agentrt.server.principals import Scope
from agentrt.storage.shelf import FileShelf

from .test_main import agentrt

pytestmark = pytest.mark.real


def test_a_key_is_made_listed_and_revoked(tmp_path: Path) -> None:
    assert agentrt(tmp_path, "keys", "list").stdout == (
        "no keys yet: 'agentrt keys create --owner NAME --scope steer' makes one\n"
    )
    assert not anyio.run(has_keys, FileShelf(tmp_path))
    options = ("--owner", "ada", "--scope", "steer", "--scope", "observe", "--expires", "90")
    made = agentrt(tmp_path, "keys", "create", *options)
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    assert re.fullmatch(r"agentrt_[0-9a-f]{12}_[\w-]{43}", key)
    assert "shown only now" in made.stderr
    assert anyio.run(has_keys, FileShelf(tmp_path))
    key_id, secret = key.split("_", 2)[1:]
    kept = (tmp_path / "keys.json").read_text()
    assert secret not in kept
    assert json.loads(kept)["keys"][0]["scopes"] == ["observe", "steer"]
    row = agentrt(tmp_path, "keys", "list").stdout.splitlines()[1]
    assert row.split()[:4] == [key_id, "ada", "observe", "steer"]
    assert row.split()[-1] == "good"
    assert agentrt(tmp_path, "keys", "revoke", key_id).stdout == f"revoked {key_id}\n"
    assert not anyio.run(has_keys, FileShelf(tmp_path))
    assert agentrt(tmp_path, "keys", "list").stdout.split()[-1] == "revoked"


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    gone = agentrt(tmp_path, "keys", "revoke", "nothing")
    assert gone.returncode == 2
    assert gone.stderr == "agentrt: unknown key 'nothing': 'agentrt keys list' shows the keys\n"
    owner = agentrt(tmp_path, "keys", "create", "--owner", "a b", "--scope", "steer")
    assert owner.returncode == 2
    assert owner.stderr.startswith("agentrt: invalid owner 'a b': ")
    assert agentrt(tmp_path, "keys", "create", "--owner", "ada").returncode == 2
    assert agentrt(tmp_path, "keys", "create", "--owner", "ada", "--scope", "all").returncode == 2


@pytest.mark.pure
def test_the_scopes_are_those_that_there_are() -> None:
    assert tuple(scope.value for scope in Scope) == SCOPES
