"""The programs that this process starts for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.critics import CRITICS
from agentrt.sandboxes.here import THIS_MACHINE
from agentrt.sandboxes.installed import Programs, installed, is_installed, search_path
from agentrt.sandboxes.programs import printed
from agentrt.sources.fetching import fetched
from agentrt.specs import LocalWorkspace
from agentrt.specs.context import PluginSource
from agentrt.storage import open_storage
from agentrt.tools.browser.finding import found
from agentrt.tools.documents.seeing import recognized
from agentrt.workspaces.git import changes
from agentrt.workspaces.given import workspace_of
from tests import samples

pytestmark = pytest.mark.simulated

SYSTEM = "/usr/local/bin:/usr/bin:/bin"
NAMES = ("git", "rg", "sh", "bash", "env", "tesseract", "chromium", "python3")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with programs of its own, which are found first: as with an active virtual environment."""
    place = tmp_path / "project"
    for directory in (place / ".venv/bin", place / "relative"):
        directory.mkdir(parents=True)
        for name in NAMES:
            program = directory / name
            program.write_text(f"#!/bin/sh\necho {name} >> {tmp_path / 'ran'}\n")
            program.chmod(0o755)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "git").symlink_to(place / "relative/git")
    monkeypatch.setenv("PATH", f"{place / '.venv/bin'}:{elsewhere}:relative::{SYSTEM}")
    return place


@pytest.mark.real
async def test_no_program_of_a_workspace_is_started(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_storage("memory://") as storage:
        await workspace_of(project, storage)
    monkeypatch.chdir(project)
    assert installed("git").startswith("/usr/")
    assert installed("bash") in ("/usr/bin/bash", "/bin/bash")
    assert set(search_path().split(":")) == {str(tmp_path / "elsewhere"), *SYSTEM.split(":")}
    said = await printed(THIS_MACHINE, ["sh", "-c", "command -v env"], cwd="/", environment={}, seconds=5, most=100)
    assert said.output.startswith((b"/usr/bin/env", b"/bin/env"))
    assert not is_installed("relative/git")
    where = str(project)
    await printed(THIS_MACHINE, ["git", "init", "-q"], cwd=where, environment={}, seconds=5, most=100, writes=(where,))
    assert (await changes(str(project))).items
    events = [samples.message(), samples.action("look")]
    assert (await CRITICS["empty_patch"]().evaluate(events, LocalWorkspace(str(project)))).score == 1
    await recognized(THIS_MACHINE, b"")
    found()
    source = PluginSource(f"file://{project}")
    with pytest.raises(Exception, match="cannot be fetched"):
        await fetched(source, tmp_path / "cache", project)
    assert not (tmp_path / "ran").exists()


def test_a_program_stays_the_one_that_was_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        directory.mkdir()
    monkeypatch.setenv("PATH", f"{first}:{second}")
    (second / "tool").write_text("#!/bin/sh\n")
    (second / "tool").chmod(0o755)
    assert installed("tool") == str(second / "tool")
    (second / "tool").rename(first / "tool")
    assert installed("tool") == str(second / "tool")


def test_a_program_of_another_project_is_found_last(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may have worked there before this process began."""
    (project / ".venv/pyvenv.cfg").touch()
    monkeypatch.setenv("PATH", f"{project / '.venv/bin'}:{SYSTEM}")
    assert installed("git").startswith("/usr/")
    monkeypatch.setenv("PATH", str(project / ".venv/bin"))
    assert installed("git") == str(project / ".venv/bin/git")


def test_the_system_is_searched_under_a_workspace_that_holds_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Programs()
    programs.keep_out("/")
    assert programs.find("git").startswith("/usr/")
    monkeypatch.setenv("PATH", str(project / ".venv/bin"))
    with pytest.raises(FileNotFoundError, match="git is not installed, or only in a workspace"):
        programs.find("git")


def test_a_program_that_was_found_in_a_new_workspace_is_looked_up_again(project: Path) -> None:
    programs = Programs()
    assert programs.find("git") == str(project / ".venv/bin/git")
    programs.keep_out(str(project))
    assert programs.find("git").startswith("/usr/")
