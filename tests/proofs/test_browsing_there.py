"""A real browser in a place that is not this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pytest

from agentrt import DockerWorkspace, ToolError
from agentrt.actors.core.leases import Leases
from agentrt.specs import WorkspaceSpec

from ..sandboxes.by_command.test_place import NearWorkspace
from ..tools.browser.driving import Browser
from ..tools.browser.site import site
from ..tools.context import FakeContext
from .waiting import eventually

pytestmark = pytest.mark.long


@asynccontextmanager
async def used(workspace: WorkspaceSpec) -> AsyncIterator[Browser]:
    """A browser in the place of a workspace."""
    async with anyio.create_task_group() as tasks:
        context = FakeContext(Path(workspace.path))
        context.workspace, context.tasks = workspace, tasks
        place = context.place
        try:
            with anyio.fail_after(90):
                async with Leases() as context.leases:
                    yield Browser(context)
        finally:
            with anyio.CancelScope(shield=True):
                await place.close()


def below() -> list[psutil.Process]:
    """The browsers that a command has reached."""
    found = list[psutil.Process]()
    for process in psutil.process_iter(["name", "environ"]):
        if "chrom" in (process.info["name"] or "") and "AGENTRT_LINK" in (process.info["environ"] or {}):
            found.append(process)
    return found


async def test_it_runs_there_and_ends_with_its_session(tmp_path: Path) -> None:
    async with site() as address, used(NearWorkspace(str(tmp_path))) as browser:
        await browser.do("navigate", url=f"{address}/login")
        assert "button 'Go'" in browser.text
        await browser.do("type", index=browser.number("textbox 'Password'"), text="Ada")
        assert "textbox 'Password'" in browser.text
        assert below()
        await browser.do("navigate", url=f"{address}/download")
        assert "a download was not kept: in this place, download with a command" in browser.text
        await browser.close()
        await eventually(lambda: not below(), "no browser is left", 10)


async def test_a_place_without_one_says_so(workspace: DockerWorkspace) -> None:
    async with used(workspace) as browser:
        with pytest.raises(ToolError, match="there is no Chromium: install chromium there, or use the terminal"):
            await browser.do("navigate", url="http://127.0.0.1:9/")


async def test_a_failure_beside_it_ends_it(tmp_path: Path) -> None:
    """What waits for it is cancelled, and not held up."""
    with pytest.raises(ExceptionGroup) as raised:
        async with site() as address, used(NearWorkspace(str(tmp_path))) as browser:
            await browser.do("navigate", url=f"{address}/login")
            raise ValueError("beside it")
    assert raised.group_contains(ValueError)
    await eventually(lambda: not below(), "no browser is left", 10)
