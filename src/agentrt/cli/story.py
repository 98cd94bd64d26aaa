"""Events as text that a person likes to read. Pure: events in, rich text out."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from rich.text import Text

from ..events import (
    ActionEvent,
    AgentErrorEvent,
    Condensation,
    ConfirmationRequested,
    ConversationErrorEvent,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    InterruptEvent,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    ResourceLost,
    RiskAssessed,
    UserRejectObservation,
)
from ..specs import SecurityRisk
from ..specs.content import plain
from ..specs.tool import FINISH, THINK
from ..state import State

FOLDED = 6
"""Lines of a result that are shown unless all are asked for."""

FOLDED_DIFF = 16
"""The same for a change of a file."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_RISK = {
    SecurityRisk.LOW: "green",
    SecurityRisk.MEDIUM: "yellow",
    SecurityRisk.HIGH: "bold red",
    SecurityRisk.UNKNOWN: "yellow",
}


def clean(text: str) -> str:
    """Text without control characters, so that no output of a tool or model can steer the terminal."""
    return _CONTROL.sub("", text)


class Story:
    """Turns events into lines; an action is told once its risk is known.

    `said` are the ids of messages and thoughts that were shown already, as they streamed in.
    """

    def __init__(self, *, folded: bool = True) -> None:
        self.said: set[str] = set()
        self._folded = folded
        self._untold: dict[str, ActionEvent] = {}
        self._risk: dict[str, SecurityRisk] = {}

    def tell(self, event: Event) -> Iterator[Text]:
        """The lines of an event; most bookkeeping has none."""
        match event:
            case MessageEvent():
                yield from self._message(event)
            case ActionEvent():
                if event.thought and event.id not in self.said:
                    yield Text(clean(event.thought))
                self._untold[event.id] = event
            case RiskAssessed():
                self._risk[event.action_id] = event.risk
            case ExecutionStarted():
                yield from self._action(event.action_id)
            case ConfirmationRequested():
                for action_id in event.action_ids:
                    yield from self._action(action_id)
            case ObservationEvent():
                yield from self._action(event.action_id)
                yield from self._result(event)
            case AgentErrorEvent():
                yield from self._action(event.action_id)
                yield from self._indented(event.error, "red")
            case UserRejectObservation():
                yield from self._action(event.action_id)
                yield from self._indented(f"rejected: {event.rejection_reason}", "yellow")
            case InterruptEvent():
                yield Text("■ interrupted" + (f": {clean(event.reason)}" if event.reason else ""), "yellow")
            case PauseEvent():
                yield Text("‖ paused" + (f": {clean(event.reason)}" if event.reason else ""), "yellow")
            case ConversationErrorEvent():
                yield Text(f"✗ {event.code}: {clean(event.detail)}", "bold red")
            case Condensation():
                yield Text(f"… {len(event.forgotten_event_ids)} events left the model's view", "dim")
            case ResourceLost():
                yield Text(f"! {clean(event.detail)}", "yellow")
            case _:
                return

    def _message(self, event: MessageEvent) -> Iterator[Text]:
        if event.id in self.said:
            return
        said = clean(plain(event.content))
        if event.source == "user":
            yield Text.assemble(("› ", "bold cyan"), (said, "bold"))
        else:
            yield Text(said + (" [cut]" if event.partial else ""), "" if event.source == "agent" else "dim")

    def _action(self, action_id: str) -> Iterator[Text]:
        action = self._untold.pop(action_id, None)
        if action is None:
            return
        risk = self._risk.pop(action_id, None)
        line = Text.assemble(("● ", "blue"), (clean(action.tool_name), "bold blue"), "  ", clean(headline(action)))
        if risk is not None:
            line.append(f"  {risk.value.lower()}", _RISK[risk])
        yield line

    def _result(self, event: ObservationEvent) -> Iterator[Text]:
        if event.tool_name in (THINK, FINISH):
            return
        if event.tool_name == "file_editor" and (changed := _diff(event)):
            yield from self._diff(changed)
            return
        yield from self._indented(plain(event.content), "red" if event.is_error else "dim")

    def _diff(self, changed: str) -> Iterator[Text]:
        lines = [line for line in changed.splitlines() if not line.startswith(("---", "+++"))]
        styles = {"+": "green", "-": "red", "@": "cyan"}
        for line in self._fold(lines, FOLDED_DIFF):
            yield Text(f"  │ {clean(line)}", styles.get(line[:1], "dim"))

    def _indented(self, text: str, style: str) -> Iterator[Text]:
        for line in self._fold(text.splitlines()):
            yield Text(f"  │ {clean(line).expandtabs(4)}", style)

    def _fold(self, lines: list[str], most: int = FOLDED) -> list[str]:
        if not self._folded or len(lines) <= most + 1:
            return lines
        head = most // 2
        return [*lines[:head], f"… {len(lines) - most} more lines", *lines[-(most - head) :]]


class _Editing(msgspec.Struct):
    command: str
    path: str


class _Diff(msgspec.Struct):
    diff: str = ""


def headline(action: ActionEvent) -> str:
    """An action's arguments on a line."""
    try:
        match action.tool_name:
            case "terminal":
                command = _argument(action, "command")
                return f"$ {command}" if command else "(waits for more output)"
            case "file_editor":
                edit = msgspec.json.decode(action.arguments, type=_Editing)
                return f"{edit.command} {edit.path}"
            case "think":
                return _argument(action, "thought")
            case "finish":
                return _argument(action, "message")
    except msgspec.ValidationError:
        pass
    shown = bytes(action.arguments).decode()
    return shown if len(shown) <= 160 else shown[:160] + "…"


def _argument(action: ActionEvent, name: str) -> str:
    return str(msgspec.json.decode(action.arguments, type=dict[str, object]).get(name, ""))


def _diff(event: ObservationEvent) -> str:
    try:
        found = msgspec.json.decode(event.details, type=_Diff | None)
    except msgspec.ValidationError:
        return ""
    return found.diff if found is not None else ""


def money(cost: float, unpriced: int) -> str:
    """What was spent, as far as it is known."""
    if unpriced == 0:
        return f"${cost:.4f}"
    return f"${cost:.4f} and {unpriced} calls of unknown price" if cost else "price unknown"


def summary(state: State, seconds: float | None = None) -> Text:
    """How a conversation stands, and what it used, on a line."""
    colour = {
        ExecutionStatus.FINISHED: "green",
        ExecutionStatus.ERROR: "red",
        ExecutionStatus.STUCK: "red",
    }.get(state.status, "yellow")
    spent = state.ledger.total
    usage = spent.usage
    parts = [
        f"{state.ledger.commands} model calls",
        f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out",
        money(spent.cost, spent.unpriced),
    ]
    if seconds is not None:
        parts.append(f"{seconds:.1f} s")
    return Text.assemble(
        (state.status.value.replace("_", " "), f"bold {colour}"), ("  ·  " + "  ·  ".join(parts), "dim")
    )
