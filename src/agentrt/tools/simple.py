"""`think` and `task_tracker`: tools that affect only the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..protocols import Observation, ToolContext
from ..specs import OnCrash, ToolAnnotations
from ..specs.content import text
from .definition import Params, ToolType, nothing

HARMLESS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


_STATUSES = {
    **dict.fromkeys(("todo", "to_do", "pending", "not_started", "planned"), "todo"),
    **dict.fromkeys(("in_progress", "inprogress", "doing", "started", "active", "current"), "in_progress"),
    **dict.fromkeys(("done", "completed", "complete", "finished", "closed"), "done"),
}
"""The names that models use for the states of a task, in lower case and with "_" between words."""
_LISTS = ("task_list", "tasks", "todos", "todo_list", "plan", "items")
_TITLES = ("title", "content", "task", "step", "description", "name")
"""The names that models use for the list and for a title; the correct name comes first."""


class ThinkAction(msgspec.Struct, frozen=True):
    """Arguments of `think`."""

    thought: Annotated[str, Meta(description="What you want to think through.")]


class Task(msgspec.Struct, frozen=True):
    """One task of a plan."""

    title: str
    status: Literal["todo", "in_progress", "done"] = "todo"
    notes: str = ""


class TaskTrackerAction(msgspec.Struct, frozen=True):
    """Arguments of `task_tracker`."""

    command: Annotated[Literal["view", "plan"], Meta(description="`view` shows the list, `plan` replaces it whole.")]
    task_list: Annotated[list[Task], Meta(description="With `plan`: the whole new list.")] = []


class TaskTrackerObservation(Observation, frozen=True, kw_only=True):
    """The list after the call."""

    task_list: tuple[Task, ...] = ()


class _Plan(msgspec.Struct):
    task_list: tuple[Task, ...] = ()


class _Noted:
    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        return Observation(content=text("Noted."))

    async def aclose(self) -> None:
        return None


class TaskTracker:
    """Keeps the plan of one conversation."""

    def __init__(self, params: Params) -> None:
        self._tasks: tuple[Task, ...] = ()

    async def __call__(self, action: TaskTrackerAction, context: ToolContext) -> TaskTrackerObservation:
        """Return the list; `plan` replaces it first. After a restart the list comes from the log."""
        if action.command == "plan":
            self._tasks = tuple(action.task_list)
        elif (details := await context.previous()) is not None:
            self._tasks = msgspec.json.decode(details, type=_Plan).task_list
        marks = {"todo": "[ ]", "in_progress": "[~]", "done": "[x]"}
        lines = [
            f"{n}. {marks[t.status]} {t.title}" + (f" ({t.notes})" if t.notes else "")
            for n, t in enumerate(self._tasks, 1)
        ]
        return TaskTrackerObservation(content=text("\n".join(lines) or "No tasks yet."), task_list=self._tasks)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


@dataclass(frozen=True)
class _Lenient(ToolType):
    """`task_tracker` that also accepts the arguments of other trackers; its schema does not show this to the model."""

    def read(self, arguments: msgspec.Raw) -> Any:
        return msgspec.convert(as_plan(msgspec.json.decode(arguments)), self.action, strict=False)


def as_plan(given: Any) -> Any:
    """Return the arguments of `task_tracker` in the form of its schema; leave unknown values as they are."""
    if not isinstance(given, dict):
        return given
    tasks = next((given[name] for name in _LISTS if isinstance(given.get(name), list)), None)
    meant = {"command": given.get("command")}
    if isinstance(meant["command"], str):
        meant["command"] = meant["command"].strip().lower()
    if not meant["command"]:
        meant["command"] = "view" if tasks is None else "plan"
    if tasks is not None:
        return {**meant, "task_list": [_as_task(task) for task in tasks]}
    return {**meant, "task_list": given["task_list"]} if "task_list" in given else meant


def _as_task(given: Any) -> Any:
    if isinstance(given, str):
        return {"title": given}
    if not isinstance(given, dict):
        return given
    task = dict(given)
    named = next((name for name in _TITLES if isinstance(task.get(name), str)), "title")
    if named != "title" and "title" not in task:
        task["title"] = task[named]
    if isinstance(status := task.get("status"), str):
        task["status"] = _STATUSES.get("_".join(status.lower().replace("-", " ").replace("_", " ").split()), status)
    return {key: value for key, value in task.items() if value is not None}


think = ToolType(
    name="think",
    description="Think something through. It changes nothing; the thought is kept in the conversation.",
    action=ThinkAction,
    executor=lambda params: _Noted(),
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
    effects=nothing,
    harmless=True,
    headline="{thought}",
    aliases=("thinking", "thought"),
)

task_tracker = _Lenient(
    name="task_tracker",
    description="Keep a plan of a task that takes several steps: `plan` replaces the list, `view` shows it.",
    action=TaskTrackerAction,
    executor=TaskTracker,
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
    effects=nothing,
    stands=True,
    aliases=("todo", "todos", "todo_write", "todo_list", "task_list", "plan", "update_plan"),
)
