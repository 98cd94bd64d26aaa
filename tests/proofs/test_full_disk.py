"""A server on a file system that is really full, and has space again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from agentrt.testing import ScriptedLLM, say
from tests.server.endpoints.helpers import begin
from tests.server.served import agent, served

pytestmark = pytest.mark.long

SIZE = 4 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes. Skips the test where none can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("a file system can only be mounted by root")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def fill(ballast: Path) -> None:
    """Take all the space that there is: a cache of the store may have given some back."""
    with ballast.open("ab", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(4096))


@pytest.mark.long
async def test_a_server_on_a_full_disk_says_so_and_heals(small_disk: Path) -> None:
    async with served(small_disk, ScriptedLLM(lambda request: say("Fine."))) as client:
        with anyio.fail_after(10):
            while (await client.ask("GET", "/ready"))[0] != 200:
                await anyio.lowlevel.checkpoint()
        names = [(await begin(client))["id"] for _ in range(3)]
        ballast = small_disk / "ballast"
        for name in names:
            for _ in range(3):
                fill(ballast)
                status, problem = await client.ask("POST", f"/conversations/{name}/message", {"content": "x" * 5000})
                assert (status, problem["code"]) == (503, "log-failed")
            _, info = await client.ask("GET", f"/conversations/{name}")
            assert (info["status"], info["error"]["code"]) == ("error", "log-failed")
        fill(ballast)
        assert (await client.ask("GET", "/ready"))[0] == 503
        for _ in range(3):
            fill(ballast)
            status, problem = await client.ask("POST", "/conversations", {"agent": agent(), "message": "Hello"})
            assert status in (503, 507), problem
        left = {path.name for path in (small_disk / "store" / "conversations").iterdir()}
        assert left == {path.name for path in (small_disk / "workspaces").iterdir()} == set(names)
        ballast.unlink()
        for name in names:
            status, _ = await client.ask("POST", f"/conversations/{name}/message", {"content": "x" * 5000, "run": True})
            assert status == 200
            with anyio.fail_after(20):
                while (await client.ask("GET", f"/conversations/{name}"))[1]["status"] != "finished":
                    await anyio.lowlevel.checkpoint()
        assert (await client.ask("GET", "/ready"))[0] == 200
