"""The rows below the prompt: what the agent is doing, its plan, and its usage. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from rich.cells import cell_len, set_cell_size

from ...context.usage import context_usage
from ...events import Event, ExecutionStatus, ObservationEvent
from ...specs.llm import members
from ...state import State
from ..wording import clean, count, money

Kind = Literal["work", "wait", "rest", "bad"]

_RESTS: dict[ExecutionStatus, tuple[str, Kind]] = {
    ExecutionStatus.IDLE: ("ready", "rest"),
    ExecutionStatus.FINISHED: ("ready", "rest"),
    ExecutionStatus.PAUSED: ("stopped, /resume goes on", "wait"),
    ExecutionStatus.ERROR: ("error", "bad"),
    ExecutionStatus.STUCK: ("stuck", "bad"),
    ExecutionStatus.WAITING_FOR_CONFIRMATION: ("waiting for you", "wait"),
    ExecutionStatus.WAITING_FOR_CLIENT: ("waiting for a tool of a client", "wait"),
}


SAID = 40
"""Maximum number of columns of a tool's latest output."""


class Status(msgspec.Struct, frozen=True):
    """What the agent is doing, and the figures beside it."""

    doing: str
    kind: Kind
    figures: tuple[str, ...]

    def line(self, columns: int, said: str = "") -> str:
        """Return the status as one row of at most `columns` columns: the running tool's latest output `said`, then as
        many figures as fit, in order.
        """
        line = f"{self.doing}  {_cut(said, SAID)}" if said else self.doing
        for figure in self.figures:
            longer = f"{line}  ·  {figure}"
            if cell_len(longer) > columns:
                break
            line = longer
        return _cut(line, columns)


def _cut(text: str, columns: int) -> str:
    return text if cell_len(text) <= columns else set_cell_size(text, max(columns - 1, 0)) + "…"


def status_of(state: State, unsent: int = 0) -> Status:
    """Return the status of a conversation; `unsent` are the messages that are not in its log yet."""
    return Status(*_doing(state), tuple(_figures(state, unsent)))


def _doing(state: State) -> tuple[str, Kind]:
    if state.status is not ExecutionStatus.RUNNING:
        if state.branch.inputs:
            return _RESTS[ExecutionStatus.WAITING_FOR_CONFIRMATION]
        return _RESTS[state.status]
    if state.branch.inputs:
        return "waiting for you", "wait"
    if state.branch.call is not None:
        return "thinking", "work"
    running = [pending.action.tool_name for pending in state.branch.pending if pending.command is not None]
    names = ", ".join(dict.fromkeys(map(clean, running)))
    return (f"running {names}" if running else "working"), "work"


def _figures(state: State, unsent: int) -> Iterable[str]:
    if state.agent is None:
        return
    if queued := unsent + queued_in(state):
        yield f"{queued} queued"
    yield clean(members(state.spec.llm)[0].model)
    spent = state.ledger.total
    yield money(spent.cost, spent.unpriced)
    used = context_usage(state)
    if used.tokens:
        window = f" of {short(used.window)} ({used.tokens / used.window:.0%})" if used.window else ""
        yield f"{short(used.tokens)}{window} tokens"


def queued_in(state: State) -> int:
    """Return the number of the user's messages that the agent has not seen yet while it works."""
    return sum(seen.user for seen in state.branch.queued) if state.status.at_work and state.in_flight else 0


def short(number: int) -> str:
    """Return a number of tokens in a short form."""
    return f"{number}" if number < 1000 else f"{number / 1000:.1f}k" if number < 100_000 else f"{number // 1000:,}k"


class Task(msgspec.Struct, frozen=True):
    """A task of a plan."""

    title: str
    status: str = "todo"
    notes: str = ""


class _Plan(msgspec.Struct, frozen=True):
    task_list: tuple[Task, ...]


def plan_in(event: Event) -> tuple[Task, ...] | None:
    """Return the plan that a tool has reported, or None if an event is not such a report."""
    if not isinstance(event, ObservationEvent) or b'"task_list"' not in bytes(event.details_json):
        return None
    try:
        return msgspec.json.decode(event.details_json, type=_Plan).task_list
    except msgspec.MsgspecError:
        return None


MARKS = {"done": "✔", "in_progress": "▸", "todo": "○"}

Line = tuple[str, str]
"""A task's status, or "more", and its row."""


def plan_lines(tasks: Sequence[Task], rows: int) -> tuple[Line, ...]:
    """Return a plan on at most `rows` rows, around the first unfinished task; nothing if all are done."""
    open_ = next((number for number, task in enumerate(tasks) if task.status != "done"), None)
    if open_ is None or rows < 1:
        return ()
    if len(tasks) <= rows:
        shown, before, after = tasks, 0, 0
    else:
        begin = max(0, min(open_ - 1, len(tasks) - rows + 1))
        shown = tasks[begin : begin + rows - 1]
        before, after = begin, len(tasks) - begin - len(shown)
    lines = [(task.status, f"{MARKS.get(task.status, '○')} {clean(task.title)}") for task in shown]
    if before or after:
        counted = [f"{before} before" if before else "", f"{after} after" if after else ""]
        lines.append(("more", f"  {' and '.join(filter(None, counted))}, {_done(tasks)}"))
    return tuple(lines)


def _done(tasks: Sequence[Task]) -> str:
    return f"{sum(task.status == 'done' for task in tasks)} of {count(len(tasks), 'task')} done"
