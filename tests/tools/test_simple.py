"""`think`, `finish` and `task_tracker`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from agentrt.context.replies import BadCall
from agentrt.specs import LocalWorkspace, OnCrash, Tool
from agentrt.specs.content import plain
from agentrt.tools.definition import Tools, ToolType
from agentrt.tools.finish import FinishAction, finish
from agentrt.tools.simple import (
    Task,
    TaskTracker,
    TaskTrackerAction,
    TaskTrackerObservation,
    ThinkAction,
    task_tracker,
    think,
)

from .context import FakeContext

pytestmark = pytest.mark.pure

PLAN = [Task("read"), Task("write", "in_progress", "half of it"), Task("test", "done")]
SHOWN = "1. [ ] read\n2. [~] write (half of it)\n3. [x] test"


def tools(kind: ToolType) -> Tools:
    return Tools([Tool(kind.name)], {kind.name: kind}, LocalWorkspace("/work"))


@pytest.mark.simulated
async def test_think_and_finish_only_say_so(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    thought = await think.executor({})(ThinkAction("hm"), context)
    done = await finish.executor({})(FinishAction("all of it"), context)
    assert (plain(thought.content), thought.is_error) == ("Noted.", False)
    assert (plain(done.content), done.is_error) == ("Finished.", False)
    assert list(tmp_path.iterdir()) == []


def test_thinking_shares_nothing_and_finishing_waits_for_all() -> None:
    assert tools(think).resources("think", msgspec.Raw(b'{"thought":"x"}')) == ()
    assert tools(finish).resources("finish", msgspec.Raw(b'{"message":"x"}')) == ("*",)
    submit = replace(think, name="submit", ends_turn=True)
    assert tools(submit).resources("submit", msgspec.Raw(b'{"thought":"x"}')) == ("*",), "one of a user's own as well"


@pytest.mark.parametrize("kind", [think, finish, task_tracker])
def test_they_are_harmless_and_run_again_after_a_crash(kind: ToolType) -> None:
    assert kind.annotations.read_only
    assert not kind.annotations.destructive
    assert kind.on_crash is OnCrash.RETRY
    assert not kind.holds_resource


@pytest.mark.simulated
async def test_a_plan_is_shown_with_the_state_of_each_task(tmp_path: Path) -> None:
    tracker, context = TaskTracker({}), FakeContext(tmp_path)
    planned = await tracker(TaskTrackerAction("plan", PLAN), context)
    assert plain(planned.content) == SHOWN
    assert planned.task_list == tuple(PLAN)


@pytest.mark.simulated
async def test_a_plan_replaces_the_one_before(tmp_path: Path) -> None:
    tracker, context = TaskTracker({}), FakeContext(tmp_path)
    await tracker(TaskTrackerAction("plan", PLAN), context)
    planned = await tracker(TaskTrackerAction("plan", [Task("other")]), context)
    assert planned.task_list == (Task("other"),)
    emptied = await tracker(TaskTrackerAction("plan"), context)
    assert plain(emptied.content) == "No tasks yet."


@pytest.mark.simulated
async def test_a_view_shows_what_the_log_has_also_after_a_restart(tmp_path: Path) -> None:
    planned = await TaskTracker({})(TaskTrackerAction("plan", PLAN), FakeContext(tmp_path))
    details = msgspec.Raw(msgspec.json.encode({"task_list": planned.task_list}))
    seen = await TaskTracker({})(TaskTrackerAction("view"), FakeContext(tmp_path, last=details))
    assert (plain(seen.content), seen.task_list) == (SHOWN, tuple(PLAN))


@pytest.mark.simulated
async def test_a_view_before_any_plan(tmp_path: Path) -> None:
    seen = await TaskTracker({})(TaskTrackerAction("view"), FakeContext(tmp_path))
    assert seen == TaskTrackerObservation(content=seen.content)
    assert plain(seen.content) == "No tasks yet."


@pytest.mark.simulated
async def test_every_conversation_has_a_plan_of_its_own(tmp_path: Path) -> None:
    one, two = task_tracker.executor({}), task_tracker.executor({})
    await one(TaskTrackerAction("plan", PLAN), FakeContext(tmp_path))
    seen = await two(TaskTrackerAction("view"), FakeContext(tmp_path))
    assert plain(seen.content) == "No tasks yet."


@pytest.mark.parametrize(
    "arguments",
    [b'{"command":"add"}', b'{"command":"plan","task_list":[{"title":"x","status":"open"}]}'],
)
def test_a_plan_that_does_not_fit_is_refused(arguments: bytes) -> None:
    with pytest.raises(BadCall, match="the arguments of task_tracker do not fit"):
        tools(task_tracker).parse("task_tracker", msgspec.Raw(arguments))


@pytest.mark.parametrize(
    ("status", "meant"),
    [
        *(("pending", "todo"), ("TODO", "todo"), ("to-do", "todo"), ("not started", "todo")),
        *(("IN-PROGRESS", "in_progress"), ("in progress", "in_progress"), ("In_Progress", "in_progress")),
        *(("inProgress", "in_progress"), ("completed", "done"), ("Complete", "done"), (" done ", "done")),
    ],
)
def test_a_status_is_understood_in_the_words_of_other_trackers(status: str, meant: str) -> None:
    given = msgspec.json.encode({"command": "plan", "task_list": [{"title": "read", "status": status}]})
    assert tools(task_tracker).parse("task_tracker", msgspec.Raw(given)).task_list[0].status == meant


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (b"{}", TaskTrackerAction("view")),
        (b'{"command":null}', TaskTrackerAction("view")),
        (b'{"command":"VIEW"}', TaskTrackerAction("view")),
        (b'{"task_list":[]}', TaskTrackerAction("plan")),
        (b'{"task_list":[{"title":"read"}]}', TaskTrackerAction("plan", [Task("read")])),
        (b'{"command":"view","task_list":[]}', TaskTrackerAction("view")),
        (b'{"todos":[{"content":"read","status":"completed","notes":null}]}',
         TaskTrackerAction("plan", [Task("read", "done")])),
        (b'{"command":"plan","tasks":["read",{"task":"write"}]}',
         TaskTrackerAction("plan", [Task("read"), Task("write")])),
    ],
)  # fmt: skip
def test_a_plan_is_understood_without_its_command_and_as_others_are_told(
    given: bytes, meant: TaskTrackerAction
) -> None:
    assert tools(task_tracker).parse("task_tracker", msgspec.Raw(given)) == meant


@pytest.mark.parametrize(
    "given",
    [
        b"[]", b'{"command":"drop"}', b'{"task_list":"read"}', b'{"command":1}', b'{"task_list":[3]}',
        b'{"task_list":[{"title":"read","status":"blocked"}]}', b'{"task_list":[{"status":"done"}]}',
    ],
)  # fmt: skip
def test_what_means_no_plan_is_refused(given: bytes) -> None:
    with pytest.raises(BadCall, match="do not fit"):
        tools(task_tracker).parse("task_tracker", msgspec.Raw(given))


def test_a_model_sees_one_word_for_each_thing() -> None:
    shape = bytes(task_tracker.definition.parameters).decode()
    assert '"enum":["done","in_progress","todo"]' in shape
    assert '"required":["command"]' in shape
    assert "pending" not in shape
