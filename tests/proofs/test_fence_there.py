"""Inside a real container with the engine's usual profile, a fence holds what the agent does there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from .engines import IMAGE
from .test_wall import NOT_HELD, PROJECT

pytestmark = pytest.mark.long


@pytest.fixture
def inside(address: str, tmp_path: Path) -> list[str]:
    """How a command is run in a container that sees this machine's programs, this project and a directory."""
    if shutil.which("docker") is None:
        pytest.skip("the program docker is not installed")
    seen = {sys.prefix, sys.base_prefix, str(PROJECT), "/usr", "/etc", "/root/.pyenv"}
    links = [place for place in ("/bin", "/sbin", "/lib", "/lib64") if Path(place).exists()]
    volumes = [f"--volume={place}:{place}:ro" for place in (*sorted(seen), *links) if os.path.isdir(place)]
    host = ["--host", address] if address else []
    given = ["--rm", "--network=none", f"--volume={tmp_path}:{tmp_path}", f"--workdir={PROJECT}"]
    path = f"--env=PATH={os.environ['PATH']}"
    return ["docker", *host, "run", *given, *volumes, path, IMAGE]


def run(inside: list[str], *command: str) -> str:
    """What a command in the container says."""
    said = subprocess.run([*inside, *command], capture_output=True, text=True, timeout=200, check=False)
    assert said.returncode == 0, said.stderr
    return said.stdout


def test_it_is_partly_confined_and_only_what_that_names_is_touched(inside: list[str], tmp_path: Path) -> None:
    assert run(inside, sys.executable, "-m", "agentrt", "doctor").startswith("commands are partly confined here")
    (base := tmp_path / "base").mkdir()
    told = msgspec.json.decode(run(inside, sys.executable, "-m", "tests.proofs.wall_worker", str(base), "auto"))
    assert set(told["touched"]) <= NOT_HELD, told["said"]
    assert told["tried"] > 90
