"""The contract of places in real containers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiodocker import Docker

from agentrt import DockerWorkspace, ToolError
from agentrt.placing import DEVNULL, Place, Setting
from agentrt.sandboxes.kinds import place_of

from ..sandboxes.places import FILES, PROGRAMS, SECONDS, Check, said
from ..tools.acting import ACTS, Act, call, text
from ..tools.context import FakeContext

pytestmark = pytest.mark.long


@asynccontextmanager
async def opened(workspace: DockerWorkspace) -> AsyncIterator[Place]:
    """The place of a workspace."""
    async with anyio.create_task_group() as tasks:
        place = place_of(workspace, Setting(tasks.start_soon))
        try:
            yield place
        finally:
            with anyio.CancelScope(shield=True):
                await place.close()


@asynccontextmanager
async def contained(workspace: DockerWorkspace) -> AsyncIterator[FakeContext]:
    """What a tool has in a container."""
    async with anyio.create_task_group() as tasks:
        context = FakeContext(Path(workspace.path))
        context.workspace, context.tasks = workspace, tasks
        place = context.place  # before a thread asks for it
        try:
            yield context
        finally:
            with anyio.CancelScope(shield=True):
                await place.close()


@pytest.mark.parametrize("check", [*FILES, *PROGRAMS], ids=lambda check: check.__name__)
async def test_a_container(check: Check, workspace: DockerWorkspace) -> None:
    async with opened(workspace) as place:
        with anyio.fail_after(SECONDS):
            await check(place)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_every_tool_in_a_container(act: Act, workspace: DockerWorkspace) -> None:
    async with contained(workspace) as context:
        with anyio.fail_after(60):
            await act(context)


async def test_nothing_of_this_machine_is_read_or_written(workspace: DockerWorkspace, tmp_path: Path) -> None:
    """A canary outside of the workspace, by every tool that takes a path."""
    canary = tmp_path / "canary"
    canary.write_text("a secret of this machine")
    (tmp_path / "work" / "link").symlink_to(canary)
    (tmp_path / "work" / "up").symlink_to(tmp_path)
    async with contained(workspace) as context:
        for path in (str(canary), "link", "up/canary", "../canary"):
            reads: tuple[tuple[str, dict[str, Any]], ...] = (
                ("file_editor", {"command": "view", "path": path}),
                ("read_file", {"file_path": path}),
                ("read_document", {"path": path}),
                ("grep", {"pattern": "secret", "path": path}),
                ("terminal", {"command": f"cat {path}"}),
            )
            for tool, given in reads:
                with contextlib.suppress(ToolError):
                    assert "a secret of this machine" not in await text(context, tool, **given), (tool, path)
            with contextlib.suppress(ToolError):
                await call(context, "write_file", file_path=path, content="changed")
    assert canary.read_text() == "a secret of this machine"


async def test_a_container_that_died_is_replaced_by_one(workspace: DockerWorkspace) -> None:
    """Also if many calls find out at once, and nothing is left of either."""
    async with Docker() as docker:

        async def there() -> list[str]:
            label = {"label": [f"agentrt.workspace={workspace.path}"]}
            return [one.id for one in await docker.containers.list(all=True, filters=label)]

        async with opened(workspace) as place:
            await place.files.write(f"{workspace.path}/a", b"1")
            (first,) = await there()
            await (await docker.containers.get(first)).delete(force=True)
            found = list[object]()

            async def read() -> None:
                with contextlib.suppress(ToolError):
                    found.append(await place.files.read(f"{workspace.path}/a"))

            with anyio.fail_after(SECONDS):
                async with anyio.create_task_group() as tasks:
                    for _ in range(8):
                        tasks.start_soon(read)
                assert await place.files.read(f"{workspace.path}/a") == b"1"
            (second,) = await there()
            assert second != first
        assert await there() == []


TAKES_OVER = """
import glob, os, signal, socket, sys, time
for path in glob.glob("/proc/[0-9]*/cmdline"):
    if b"agentrt.sandboxes.inside" in open(path, "rb").read():
        os.kill(int(path.split("/")[2]), signal.SIGKILL)
until = time.monotonic() + 10
while time.monotonic() < until:
    for path in glob.glob(sys.argv[1] + "/*"):
        try:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            one.connect(path)
            one.send(b"garbage")
        except OSError:
            pass
"""


async def test_a_program_in_the_container_is_not_taken_for_the_executor(workspace: DockerWorkspace) -> None:
    async with opened(workspace) as place, place.shared("one") as (shared, _):
        python, scratch = await place.python(), os.path.dirname(shared)
        attack = await place.run([python.path, "-c", TAKES_OVER, scratch], env={}, stdin=DEVNULL, stdout=DEVNULL)
        with anyio.fail_after(SECONDS):
            await attack.wait()  # it ends with the executor that it kills
            for number in range(5):
                await place.files.write(f"{workspace.path}/{number}", b"1")
                assert (await said(place, f"cat {number}")) == (0, b"1")
        attack.close_pipes()
