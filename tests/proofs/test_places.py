"""The contract of places in real containers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import DockerWorkspace, ToolError
from agentrt.placing import Place, Setting
from agentrt.sandboxes.kinds import place_of

from ..sandboxes.places import FILES, PROGRAMS, SECONDS, Check
from ..tools.acting import ACTS, Act, call, text
from ..tools.context import FakeContext
from .engines import IMAGE, NoEngine, engine

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an engine."""
    try:
        with engine(tmp_path_factory.mktemp("engine") / "own") as address:
            yield address
    except NoEngine as error:
        pytest.skip(str(error))


@pytest.fixture
def workspace(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> DockerWorkspace:
    """A workspace in a container."""
    if address:
        monkeypatch.setenv("DOCKER_HOST", address)
    (tmp_path / "work").mkdir()
    return DockerWorkspace(str(tmp_path / "work"), IMAGE)


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
        try:
            yield context
        finally:
            with anyio.CancelScope(shield=True):
                await context.place.close()


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
                ("ipython", {"code": f"print(open({path!r}).read())"}),
                ("terminal", {"command": f"cat {path}"}),
            )
            for tool, given in reads:
                with contextlib.suppress(ToolError):
                    assert "a secret of this machine" not in await text(context, tool, **given), (tool, path)
            with contextlib.suppress(ToolError):
                await call(context, "write_file", file_path=path, content="changed")
    assert canary.read_text() == "a secret of this machine"
