"""Nothing of a canary is read, changed, signalled or reached from inside a box, whoever runs it.

The same ways reach nearly all of them with `confine="off"`: the canaries are where they can be reached.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
import psutil
import pytest

from tests.sandboxes.living import lives

from .wall_worker import CANARY

pytestmark = pytest.mark.real

PROJECT = Path(__file__).parent.parent.parent
NOBODY = 65534

SECONDS = 120.0

HIDING = 'mount --bind /dev/null "$(command -v bwrap)" && exec "$@"'
"""Runs a command where bubblewrap cannot be started, in a mount namespace."""

Started = tuple[list[str], dict[str, Any], Path]
"""A Python, how its process is started, and the directory of its canaries."""


@pytest.fixture(params=["this user", "another user"])
def started(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Started]:
    """How the worker is started, with the directory of its canaries."""
    variables = {**os.environ, "MYAPP_CFG": CANARY}
    if request.param == "this user":
        base = tmp_path / "base"
        base.mkdir()
        yield [sys.executable], {"env": variables}, base
        return
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    paths = os.pathsep.join((sysconfig.get_path("purelib"), str(PROJECT / "src"), str(PROJECT)))
    user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    variables = {"PATH": os.defpath, "PYTHONPATH": paths, "MYAPP_CFG": CANARY}
    python = f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    try:
        subprocess.run(
            [python, "-c", "import agentrt, msgspec"], env=variables, **user, check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"{python} is not there, or another user cannot read this project")
    base = Path(mkdtemp(prefix="wall-", dir="/var/tmp"))
    os.chown(base, NOBODY, NOBODY)
    yield [python], {"env": variables, **user}, base
    subprocess.run(["rm", "-rf", "--one-file-system", str(base)], check=True)


NOT_HELD = {
    "read: store in the workspace",
    "system: capabilities",  # another user cannot drop what bounds them; none of them is there
    *(f"write: hooks{how}" for how in ("", " by a move", " by a copy")),
    *(f"write: {what}" for what in ("priority", "mode", "times")),
}
"""The ways that a fence does not close."""


def touched(started: Started, confine: str, without_bubblewrap: bool = False) -> tuple[int, list[str]]:
    """How many ways were tried, and those that touched something."""
    python, how, base = started
    command = [*python, "-m", "tests.proofs.wall_worker", str(base), confine]
    if without_bubblewrap:
        if os.geteuid() != 0:
            pytest.skip("only root can hide a program")
        user = how.get("user", 0)
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
        command = ["unshare", "--mount", "sh", "-c", HIDING, "sh", *command]
        how = {"env": how["env"]}
    return counted(command, how)


def counted(command: list[str], how: dict[str, Any]) -> tuple[int, list[str]]:
    """Run a worker, and return what it tells: how many ways were tried, and those that touched something."""
    said: subprocess.CompletedProcess[Any] = subprocess.run(
        command, cwd=PROJECT, capture_output=True, timeout=SECONDS, check=False, **how
    )
    assert said.returncode == 0, said.stderr.decode()
    told = msgspec.json.decode(said.stdout)
    return told["tried"], told["touched"]


@pytest.mark.parametrize("without_bubblewrap", [False, True])
def test_nothing_inside_reaches_a_canary(started: Started, without_bubblewrap: bool) -> None:
    tried, found = touched(started, "require", without_bubblewrap)
    assert found == []
    assert tried > 90


def test_a_fence_holds_all_but_what_it_names(started: Started) -> None:
    """Where the system refuses new namespaces, as in a container."""
    python, how, base = started
    refusing = [*python, "-m", "tests.sandboxes.refusing", "namespaces", "--"]
    tried, found = counted([*refusing, *python, "-m", "tests.proofs.wall_worker", str(base), "auto"], how)
    assert set(found) <= NOT_HELD
    assert tried > 90


@pytest.mark.parametrize("policy", ["never", "risky"])
def test_where_nothing_holds_it_nothing_touches_them_unasked(started: Started, policy: str) -> None:
    python, how, base = started
    refusing = [*python, "-m", "tests.sandboxes.refusing", "namespaces", "landlock", "--"]
    tried, found = counted([*refusing, *python, "-m", "tests.proofs.unasked_worker", str(base), policy], how)
    assert found == []
    assert tried > 70


def test_without_a_wall_they_are_reached(started: Started) -> None:
    tried, found = touched(started, "off")
    assert len(found) > 0.85 * tried


@pytest.mark.parametrize("way", ["by_bubblewrap", "by_ourselves"])
def test_nothing_of_a_box_outlives_its_runtime(tmp_path: Path, way: str) -> None:
    """A runtime that is killed takes all with it, wherever it has gone."""
    program = (
        "import anyio, os, sys\n"
        "from pathlib import Path\n"
        "from agentrt.sandboxes import holding\n"
        "from tests.sandboxes.consoles import here\n"
        "async def main():\n"
        "    place = here(Path(sys.argv[1]), 'require', getattr(holding, sys.argv[2]))\n"
        "    await place.run(['sh', '-c', 'setsid env -i sleep 6007 & (env -i nohup sleep 6007 &); exec sleep 6007'])\n"
        "    print(os.getpid(), flush=True)\n"
        "    await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path), way]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE) as runtime:
        assert runtime.stdout is not None
        assert runtime.stdout.readline()
        until = time.monotonic() + 10
        while len(inside := sleepers()) < 3:
            assert time.monotonic() < until
        runtime.kill()
    until = time.monotonic() + 1
    while any(map(lives, inside)):
        assert time.monotonic() < until, "it is there a second later"


def sleepers() -> list[int]:
    """The processes of that test."""
    found = list[int]()
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[-2:] == ["sleep", "6007"]:
            found.append(process.pid)
    return found
