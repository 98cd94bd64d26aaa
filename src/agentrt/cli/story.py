"""Events as text for people. Pure: events in, rich text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from ..context.replies import DO_NOT_FIT
from ..events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    ChildStarted,
    Condensation,
    ConfirmationGiven,
    ConfirmationRequested,
    ConversationErrorEvent,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    HookExecutionEvent,
    MessageEvent,
    ObservationEvent,
    ResourceLost,
    RiskAssessed,
    RunEnded,
    SystemPromptEvent,
    UserRejectObservation,
)
from ..ledger import GoalStatus
from ..specs import SecurityRisk, ToolDefinition
from ..specs.content import plain
from ..state import State
from ..storing import Gap
from ..tools.built_in import BUILT_IN
from .notes import note
from .wording import as_sent, clean, condensed, count, headline, money

FOLDED = 6
"""Maximum number of lines of a result, unless all are asked for."""

FOLDED_DIFF = 16
"""Maximum number of lines of a file's change."""

FOLDED_SAID = 24
"""Maximum number of lines of a person's message."""

RISK = {
    SecurityRisk.LOW: "green",
    SecurityRisk.MEDIUM: "yellow",
    SecurityRisk.HIGH: "bold red",
    SecurityRisk.UNKNOWN: "yellow",
}
"""The colours of the risk ratings."""

MARGIN = "  │ "
"""The beginning of the lines that belong to an action."""

CHANGED = {"+": "green", "-": "red", "@": "cyan"}
"""The colours of a change's lines, by their first character."""

_TOLD = {"hook": "↪ ", "environment": "↪ agentrt told the model: "}
"""Prefixes of messages to the model that do not come from a person."""


class Story:
    """Turns events into lines; an action is printed when its risk is known.

    `said` are the ids of messages and thoughts that were already shown while they streamed in. With `asks`, a question
    shows what waits for approval, and the story tells an action when it is decided.
    """

    def __init__(self, *, folded: bool = True, asks: bool = False) -> None:
        self.said: set[str] = set()
        self._tools: dict[str, ToolDefinition] = {}
        self._folded, self._asks = folded, asks
        self._untold: dict[str, ActionEvent] = {}
        self._risk: dict[str, SecurityRisk] = {}
        self._children: dict[str, str] = {}
        self._denied: set[str] = set()
        """Denials by hooks that were printed; the refusals that follow them add nothing and are skipped."""

    def use(self, tools: Iterable[ToolDefinition]) -> None:
        """Use these tools to describe their calls, if the story does not begin with the log."""
        self._tools |= {tool.name: tool for tool in tools}

    def tell(self, event: Event) -> Iterator[Text]:
        """Return the lines of an event; most bookkeeping events have none."""
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
            case ConfirmationGiven():
                for action_id in event.action_ids:
                    yield from self._action(action_id)
                yield Text(f"  │ approved by {clean(event.by)}" if event.by else f"{MARGIN}approved", "green")
            case ConfirmationRequested() if not self._asks:
                for action_id in event.action_ids:
                    yield from self._action(action_id)
            case ObservationEvent():
                yield from self._action(event.action_id)
                yield from self._result(event)
            case AgentErrorEvent():
                refused = event.error.startswith(DO_NOT_FIT.format(event.tool_name))
                yield from self._action(event.action_id, sent=refused)
                yield from self._indented(event.error, "red")
            case UserRejectObservation():
                yield from self._action(event.action_id)
                if event.caused_by not in self._denied:
                    by = f" by {clean(event.by)}" if event.by and event.source == "user" else ""
                    yield from self._indented(f"rejected{by}: {event.rejection_reason}", "yellow")
            case ActionRevised():
                yield from self._revised(event)
            case HookExecutionEvent():
                yield from self._hooked(event)
            case SystemPromptEvent():
                self.use(event.tools)
            case _:
                yield from self._rest(event)

    def _rest(self, event: Event) -> Iterator[Text]:
        match event:
            case ConversationErrorEvent():
                yield Text(f"✗ {event.code}: {clean(event.detail)}", "bold red")
            case Condensation():
                yield from self._condensed(event)
            case ResourceLost():
                yield Text(f"! {clean(event.detail)}", "yellow")
            case ChildStarted() if event.child_id not in self._children:
                self._children[event.child_id] = f"{event.agent or 'child'} {len(self._children) + 1}"
        yield from note(event, self._children)

    def _condensed(self, event: Condensation) -> Iterator[Text]:
        """Return what left the model's view; with folding off, the summary in its place."""
        yield Text(f"… {condensed(event)}", "dim")
        if event.problem:
            yield Text(f"! {clean(event.problem)}", "yellow")
        if event.summary and not self._folded:
            yield from (Text(f"  {line}", "dim") for line in clean(event.summary).splitlines())

    def _hooked(self, event: HookExecutionEvent) -> Iterator[Text]:
        """Return what a hook says about an action, to be printed after the action's line."""
        if event.verdict == "deny" and event.target in self._untold:
            yield from self._action(event.target)
            self._denied.add(event.id)
        yield from note(event, self._children)

    def _revised(self, event: ActionRevised) -> Iterator[Text]:
        action = self._untold.get(event.action_id)
        if action is None:
            return
        told = "a hook rewrote" if event.source == "hook" else "a file that it runs has changed: rated again"
        yield Text(f"↪ {told}  {clean(self._headline(action))}", "yellow")
        self._untold[event.action_id] = replace(action, arguments_json=event.arguments_json)

    def _message(self, event: MessageEvent) -> Iterator[Text]:
        if event.id in self.said:
            return
        if event.source == "user":
            yield from self._heard(event)
        else:
            told = _TOLD.get(event.source, "")
            yield Text(told + clean(plain(event.content)) + (" [cut]" if event.partial else ""), "dim" if told else "")

    def _heard(self, event: MessageEvent) -> Iterator[Text]:
        """Return a person's message, and a line for each attachment: files, images."""
        blocks = [clean(plain([block])) for block in event.content]
        said, *more = blocks if self._folded and blocks else ["\n".join(blocks)]
        lines = self._fold(said.splitlines(), FOLDED_SAID)
        yield Text.assemble(("› ", "bold cyan"), ("\n".join(lines), "bold"))
        for block in more:
            begin, _, rest = block.partition("\n")
            folded = f"  … {count(rest.count(chr(10)) + 1, 'more line')}" if rest else ""
            yield Text(f"{MARGIN}{begin}{folded}", "dim")

    def _headline(self, action: ActionEvent) -> str:
        return headline(action, self._tools.get(action.tool_name))

    def _action(self, action_id: str, *, sent: bool = False) -> Iterator[Text]:
        action = self._untold.pop(action_id, None)
        if action is None:
            return
        risk = self._risk.pop(action_id, None)
        words = as_sent(action) if sent else self._headline(action)
        line = Text.assemble(("● ", "blue"), (clean(action.tool_name), "bold blue"), "  ", clean(words))
        if risk is not None:
            line.append(f"  {risk.value.lower()}", RISK[risk])
        yield line

    def _result(self, event: ObservationEvent) -> Iterator[Text]:
        if (tool := self._tools.get(event.tool_name)) is not None and tool.harmless:
            return
        if changed := _diff(event):
            yield from self._diff(changed)
            return
        yield from self._indented(plain(event.content), "red" if event.is_error else "dim")

    def _diff(self, changed: str) -> Iterator[Text]:
        lines = [line for line in changed.splitlines() if not line.startswith(("---", "+++"))]
        for line in self._fold(lines, FOLDED_DIFF):
            yield Text(f"{MARGIN}{clean(line)}", CHANGED.get(line[:1], "dim"))

    def _indented(self, text: str, style: str) -> Iterator[Text]:
        for line in self._fold(text.splitlines()):
            yield Text(f"{MARGIN}{clean(line).expandtabs(4)}", style)

    def _fold(self, lines: list[str], most: int = FOLDED) -> list[str]:
        if not self._folded or len(lines) <= most + 1:
            return lines
        head = most // 2
        return [*lines[:head], f"… {len(lines) - most:,} more lines", *lines[-(most - head) :]]


def event_text(event: Event) -> str:
    """Return the lines of one event, told alone."""
    if isinstance(event, RunEnded):  # the command line adds the sums of the log
        return event.status.value.replace("_", " ")
    story = Story()
    lines = list(story.tell(event))
    if isinstance(event, ActionEvent):
        if (tool := BUILT_IN.get(event.tool_name)) is not None:
            story.use((tool.definition,))
        lines += story.tell(ExecutionStarted(action_id=event.id, command=""))
    return "\n".join(line.plain for line in lines) or f"{event.seq} {type(event).__name__}"


class _Diff(msgspec.Struct):
    diff: str = ""


def _diff(event: ObservationEvent) -> str:
    try:
        found = msgspec.json.decode(event.details_json, type=_Diff | None)
    except msgspec.ValidationError:
        return ""
    return found.diff if found is not None else ""


def with_margin(line: Text, console: Console) -> Text:
    """Return a line that fits a terminal; if it has a margin, so has every line that it is wrapped to."""
    width = console.width
    if not line.plain.startswith(MARGIN) or line.cell_len <= width or width <= 2 * len(MARGIN):
        return line
    wrapped = line[len(MARGIN) :].wrap(console, width - len(MARGIN))
    return Text("\n").join(Text.assemble((MARGIN, line.style), part) for part in wrapped)


def gap_line(gap: Gap) -> Text:
    """Return the line that marks damaged events."""
    first, last = gap.after + 1, None if gap.before is None else gap.before - 1
    which = f"event {first}" if first == last else f"the events from {first} on" if last is None else ""
    which = which or f"the events {first} to {last}"
    return Text(f"--- {which} cannot be read: {clean(gap.reason)} ---", "bold red")


def summary(state: State, seconds: float | None = None) -> Text:
    """Return a conversation's status and usage on one line; sums include delegated conversations, calls do not."""
    colour = {
        ExecutionStatus.FINISHED: "green",
        ExecutionStatus.ERROR: "red",
        ExecutionStatus.STUCK: "red",
    }.get(state.status, "yellow")
    spent = state.ledger.total
    usage = spent.usage
    parts = [
        *_achieved(state),
        count(state.ledger.commands, "model call"),
        f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out",
        money(spent.cost, spent.unpriced),
    ]
    if seconds is not None:
        parts.append(f"{seconds:.1f} s")
    return Text.assemble(
        (state.status.value.replace("_", " "), f"bold {colour}"), ("  ·  " + "  ·  ".join(parts), "dim")
    )


def _achieved(state: State) -> Iterator[str]:
    """Return the status of the goal and of delegated conversations."""
    goal, children = state.ledger.goal, state.ledger.children.values()
    if goal is not None:
        match goal.outcome:
            case GoalStatus.COMPLETE:
                yield "goal reached"
            case GoalStatus.CAPPED:
                yield f"goal not reached, judged {count(goal.iterations, 'time')}"
            case _:
                yield "goal not reached yet"
    if children:
        at_work, good = sum(c.open for c in children), sum(c.status is ExecutionStatus.FINISHED for c in children)
        rest = len(children) - at_work - good
        said = ((good, "finished"), (at_work, "at work"), (rest, "failed"))
        yield f"{len(children)} delegated: " + ", ".join(f"{number} {what}" for number, what in said if number)
