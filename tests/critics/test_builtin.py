"""The built-in critics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from agentrt.critics import CRITICS
from agentrt.errors import WorkspaceError
from agentrt.events import Event
from agentrt.specs import LocalWorkspace
from tests import samples

pytestmark = pytest.mark.simulated

ACTION = samples.action("look", id="a1")
FINISH = samples.action("finish", id="a2")
WORKED: list[Event] = [samples.message(), ACTION, samples.observation(ACTION)]


async def score(name: str, events: Sequence[Event], path: Path | str = "/") -> float:
    result = await CRITICS[name]().evaluate(events, LocalWorkspace(str(path)))
    assert bool(result.message) == (result.score < 1)
    return result.score


async def test_one_is_always_content() -> None:
    assert await score("pass", []) == 1


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([samples.message(), samples.answer()], 0),
        ([*WORKED, samples.answer()], 0),
        ([*samples.beginning(), *WORKED, FINISH, samples.observation(FINISH)], 1),
        ([*WORKED, FINISH, samples.failure(FINISH)], 0),
        ([*WORKED, FINISH, samples.observation(FINISH), samples.message(), samples.answer()], 0),
    ],
)
async def test_one_wants_the_agent_to_finish(events: Sequence[Event], expected: float) -> None:
    assert await score("agent_finished", events) == expected


@pytest.mark.real
async def test_one_wants_a_file_to_be_changed(tmp_path: Path) -> None:
    await anyio.run_process(["git", "init", "-q", str(tmp_path)])
    assert await score("empty_patch", WORKED, tmp_path) == 0
    (tmp_path / "new").touch()
    assert await score("empty_patch", WORKED, tmp_path) == 1
    assert await score("empty_patch", [samples.message()], tmp_path) == 0, "it was changed by somebody else"


async def test_where_git_cannot_say_it_fails_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"the workspace has no \.git directory of its own"):
        await score("empty_patch", WORKED, tmp_path)


@pytest.mark.real
async def test_no_program_of_the_repository_is_run_and_none_gets_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, ran = tmp_path / "project", tmp_path / "ran"
    await anyio.run_process(["git", "init", "-q", str(place)])
    (place / ".gitattributes").write_text("* filter=mine\n")
    (place / "file").write_text("a")
    for command in (("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")):
        await anyio.run_process(["git", "-C", str(place), *command])
    for name in ("filter.mine.clean", "filter.mine.process", "core.fsmonitor", "diff.external"):
        program = f"env > {ran}; cat"
        await anyio.run_process(["git", "-C", str(place), "config", name, program])
    (place / "file").write_text("b")
    monkeypatch.setenv("RUNTIME_API_KEY", "s3cr3t")
    assert await score("empty_patch", WORKED, place) == 1
    assert not ran.exists()
