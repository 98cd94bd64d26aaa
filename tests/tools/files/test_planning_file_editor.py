"""`planning_file_editor`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentrt.errors import ToolError
from agentrt.specs import FileText, LocalWorkspace
from agentrt.specs.content import plain
from agentrt.tools.files import planning_file_editor
from agentrt.tools.files.file_editor import FileEditorAction
from agentrt.tools.files.opened import FileEditorObservation
from agentrt.tools.files.planning_file_editor import HEADINGS, PLAN

from ..context import FakeContext

pytestmark = pytest.mark.simulated


class Planner:
    """One executor, called with keywords, and what it has done so far."""

    def __init__(self, root: Path) -> None:
        self._context = FakeContext(root)

    async def __call__(self, command: Any, path: str, **arguments: Any) -> FileEditorObservation:
        action = FileEditorAction(command=command, path=path, **arguments)
        done = await planning_file_editor.executor({})(action, self._context)
        assert isinstance(done, FileEditorObservation)
        self._context.remember("planning_file_editor", done)
        return done


async def test_the_plan_has_its_headings_from_the_first_look_at_it_on(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    planner = Planner(tmp_path)
    assert plain((await planner("view", str(tmp_path / "a"))).content) == "     1\tx"
    assert not (tmp_path / PLAN).exists(), "another file was looked at"
    assert "OBJECTIVE" in plain((await planner("view", PLAN)).content)
    assert (tmp_path / PLAN).read_text() == HEADINGS
    await planner("str_replace", PLAN, old_str="# 1. OBJECTIVE\n", new_str="# 1. OBJECTIVE\nMend it.\n")
    assert (tmp_path / PLAN).read_text().startswith("# 1. OBJECTIVE\nMend it.\n\n# 2. CONTEXT SUMMARY")
    await planner("undo_edit", str(tmp_path / PLAN))
    assert (tmp_path / PLAN).read_text() == HEADINGS


async def test_the_plan_is_written_whole_while_it_is_empty(tmp_path: Path) -> None:
    planner = Planner(tmp_path)
    await planner("view", PLAN)
    await planner("create", PLAN, file_text="# All of it\n")
    assert (tmp_path / PLAN).read_text() == "# All of it\n"
    with pytest.raises(ToolError, match="exists already"):
        await planner("create", PLAN, file_text="again")


@pytest.mark.parametrize("command", ["create", "str_replace", "insert", "undo_edit"])
async def test_nothing_else_is_changed(tmp_path: Path, command: str) -> None:
    (tmp_path / "a").write_text("x\n")
    for path in ("a", str(tmp_path / "a"), f"{PLAN}/../../a", "PLAN.md"):
        with pytest.raises(ToolError, match="only the plan can be changed"):
            await Planner(tmp_path)(command, path, file_text="y", old_str="x", new_str="y", insert_line=0)
    assert (tmp_path / "a").read_text() == "x\n"


async def test_a_plan_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    (tmp_path / PLAN).parent.mkdir()
    (tmp_path / PLAN).symlink_to("../a")
    with pytest.raises(ToolError, match="is a link"):
        await Planner(tmp_path)("str_replace", PLAN, old_str="x", new_str="y")
    assert (tmp_path / "a").read_text() == "x\n"


@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert"])
@pytest.mark.parametrize("link", [".agents_tmp", PLAN])
@pytest.mark.parametrize("leads", ["there", "nowhere", "to a file", "out"])
async def test_no_link_leads_the_plan_elsewhere(tmp_path: Path, command: str, link: str, leads: str) -> None:
    """A repository may bring such a link along, so that the plan becomes a git hook."""
    root = tmp_path / "work"
    (root / "there").mkdir(parents=True)
    (root / "to a file").write_text("x\n")
    (tmp_path / "out").mkdir()
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(tmp_path / "out" if leads == "out" else root / leads)
    with pytest.raises(ToolError, match="is a link"):
        await Planner(root)(command, PLAN, file_text="y", old_str="x", new_str="y", insert_line=0)
    made = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert made == [root / "to a file"]
    assert (root / "to a file").read_text() == "x\n"
    assert not (root / "nowhere").exists()


async def test_a_workspace_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to("real")
    await Planner(tmp_path / "work")("create", PLAN, file_text="# All of it\n")
    assert (tmp_path / "real" / PLAN).read_text() == "# All of it\n"


@pytest.mark.pure
def test_what_it_touches_is_known_before() -> None:
    effects, workspace = planning_file_editor.effects, LocalWorkspace("/w")
    assert effects is not None
    assert effects(FileEditorAction("view", "a"), workspace).reads == ("/w/a",)
    assert effects(FileEditorAction("view", PLAN), workspace).writes == (FileText(f"/w/{PLAN}"),)
    assert effects(FileEditorAction("create", PLAN, "x"), workspace).writes == (FileText(f"/w/{PLAN}", "x"),)
    assert effects(FileEditorAction("create", "/w/a", "x"), workspace).writes == ()
