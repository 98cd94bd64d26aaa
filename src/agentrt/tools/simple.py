"""`think` and `task_tracker`: tools that touch nothing but the conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..protocols import Observation, ToolContext
from ..specs import OnCrash, ToolAnnotations
from ..specs.content import text
from ..specs.tool import THINK
from .definition import Params, ToolType

HARMLESS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


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
        """The list, after it was replaced when that was asked. The log remembers it over a restart."""
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
        """Nothing to give up."""


think = ToolType(
    name=THINK,
    description="Think something through. It changes nothing; the thought is kept in the conversation.",
    action=ThinkAction,
    executor=lambda params: _Noted(),
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
)

task_tracker = ToolType(
    name="task_tracker",
    description="Keep a plan of a task that takes several steps: `plan` replaces the list, `view` shows it.",
    action=TaskTrackerAction,
    executor=TaskTracker,
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
)
