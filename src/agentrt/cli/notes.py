"""Descriptions of what people, hooks, judges and delegated conversations do. Pure: events in, rich text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from ..events import (
    BudgetGranted,
    ChildFinished,
    ChildMessaged,
    ChildStarted,
    ChildWaiting,
    CommandEnded,
    CommandStarted,
    ConsentGiven,
    ContextChanged,
    ContextResolved,
    CriticAssessed,
    Event,
    ExecutionStatus,
    FilesRestored,
    GoalSet,
    HookExecutionEvent,
    InterruptEvent,
    ModelCallRetried,
    PauseEvent,
    RuleAdded,
    RuleRemoved,
    SecretsChanged,
    SkillActivated,
    StuckDetected,
    TagsChanged,
    TitleChanged,
    ToolsChanged,
    WorkspaceSnapshot,
)
from ..specs import HookEvent
from .permissions import rule_words
from .wording import clean, count, money

MOST_PATHS = 20
"""Maximum number of files that are named after a rewind."""

_SCOPES = {"session": "in this conversation", "project": "in this project"}
_CHECKS = (HookEvent.BEFORE_TOOL, HookEvent.USER_MESSAGE, HookEvent.STOP)
"""The hook events at which a denial prevents something; at the others the model is only told."""


_TOLD = {"instructions": "instructions", "skill": "skill", "agent": "agent", "memory": "memory", "plugin": "plugin"}


def note(event: Event, children: Mapping[str, str]) -> Iterator[Text]:
    """Return the lines of an event; `children` maps the ids of delegated conversations to their names."""
    match event:
        case InterruptEvent():
            what = "■ cut for a message" if event.goes_on else "■ interrupted"
            yield Text(what + _reason(event.reason), "yellow")
        case PauseEvent():
            yield Text("‖ paused" + _reason(event.reason), "yellow")
        case HookExecutionEvent():
            yield from _hooks(event)
        case CriticAssessed() | GoalSet():
            yield _judged(event)
        case StuckDetected():
            repeats = f"it repeats itself: {clean(event.detail)}"
            yield Text(f"! {repeats}", "yellow") if event.nudge else Text(f"✗ stopped, since {repeats}", "bold red")
        case ContextResolved():
            yield from _context(event)
        case ToolsChanged():
            yield from _tools(event)
        case WorkspaceSnapshot(off=why) if why:
            yield Text(f"! files are not kept for a rewind: {clean(why)}", "yellow")
        case FilesRestored():
            yield from _restored(event)
        case CommandStarted():
            yield Text(f"$ {clean(event.command_line)} ({clean(event.by or 'a person or program')})", "dim")
        case CommandEnded():
            how = "lost" if event.lost else f"exit code {event.exit_code}, {event.duration:g} s"
            yield Text(f"$ ended: {how}", "dim")
        case ContextChanged():
            yield Text(f"! changed since they were read: {clean(', '.join(event.paths))}", "yellow")
        case SkillActivated():
            yield Text(f"✦ skill {clean(event.skill)}", "dim")
        case ChildStarted() | ChildMessaged() | ChildWaiting() | ChildFinished():
            yield from _child(event, children.get(event.child_id, event.child_id))
        case ModelCallRetried():
            yield Text(_retried(event), "dim yellow")
        case _:
            yield from (Text(line, "dim") for line in _settings(event))


def _restored(event: FilesRestored) -> Iterator[Text]:
    """Return which files were restored, and which were not."""
    yield Text(f"↩ {count(event.files, 'file')} restored to event {event.to}", "dim")
    for step in event.during:
        while_running = f"while event {', '.join(map(str, step.calls))} ran" if step.calls else "while calls ran"
        yield Text(f"↩ whoever changed them {while_running}: {_named(step.paths, step.count)}", "dim")
    unknown = set(event.unknown)
    theirs = [path for path in event.left if path not in unknown]
    if theirs:
        named = _named(theirs, event.left_count - event.unknown_count)
        yield Text(f"! left as somebody else changed them: {named}", "yellow")
    if unknown:
        named = _named(event.unknown, event.unknown_count)
        yield Text(f"! left, since it is not known what they were or who made them: {named}", "yellow")
    if event.error:
        yield Text(f"! not all could be taken back: {clean(event.error)}", "yellow")


def _named(paths: Sequence[str], number: int) -> str:
    more = f" and {number - MOST_PATHS:,} more" if number > MOST_PATHS else ""
    return f"{clean(', '.join(paths[:MOST_PATHS]))}{more}"


def _context(event: ContextResolved) -> Iterator[Text]:
    """Return how much an agent is told besides its task, and what could not be used."""
    kinds = {
        "instructions": "instructions",
        "skill": "skills",
        "agent": "agents",
        "memory": "notes",
        "plugin": "plugins",
    }
    found = {word: sum(source.kind == kind for source in event.sources) for kind, word in kinds.items()}
    told = ", ".join(
        f"{number} {word if number > 1 else word.removesuffix('s')}" for word, number in found.items() if number
    )
    if told:
        yield Text(f"it is told of {told}", "dim")
    for problem in event.problems:
        yield Text(f"! {clean(problem.path)}: {clean(problem.what)}", "yellow")


def _tools(event: ToolsChanged) -> Iterator[Text]:
    """Return the tools of an MCP server, or why it has none."""
    if event.problem:
        yield Text(f"! MCP server {clean(event.server)}: {clean(event.problem)}", "yellow")
    else:
        yield Text(f"MCP server {clean(event.server)}: {count(len(event.tools), 'tool')}", "dim")
    if event.changed:
        words = "! these tools say something else of themselves than when they were first seen: "
        yield Text(words + clean(", ".join(event.changed)), "yellow")


def _settings(event: Event) -> Iterator[str]:
    match event:
        case RuleAdded(source="environment"):
            yield f"rule of this project: {clean(rule_words(event.rule))}"
        case RuleAdded():
            yield f"+ rule {_SCOPES[event.scope]}: {clean(rule_words(event.rule))}"
        case RuleRemoved():
            yield f"- rule {_SCOPES[event.scope]}: {clean(rule_words(event.rule))}"
        case SecretsChanged():
            yield f"secrets: {clean(', '.join(event.secrets)) or 'none left'}"
        case ConsentGiven():
            yield f"agreed: the programs with the digest {event.digest[:12]} run"
        case TitleChanged():
            yield f"title: {clean(event.title)}"
        case TagsChanged():
            yield f"tags: {clean(', '.join(f'{key}={value}' for key, value in event.tags.items())) or 'none left'}"
        case BudgetGranted():
            yield f"${event.amount:.2f} more may be spent"


def _reason(reason: str) -> str:
    return f": {clean(reason)}" if reason else ""


def _hooks(event: HookExecutionEvent) -> Iterator[Text]:
    """Return what hooks prevented, what they want a person to be asked, and which of them failed."""
    named = clean(event.by or event.hook_event.value)
    if event.verdict != "allow" and event.hook_event in _CHECKS:
        what = {
            HookEvent.BEFORE_TOOL: "asks you" if event.verdict == "ask" else "denied it",
            HookEvent.USER_MESSAGE: "kept the message from the agent",
            HookEvent.STOP: "does not let it end",
        }[event.hook_event]
        yield Text(f"↪ hook {named} {what}{_reason(event.reason)}", "yellow")
        return
    for run in event.runs:
        if run.error:
            yield Text(f"↪ hook {clean(run.hook)} failed: {clean(run.error)}", "yellow")


def _judged(event: CriticAssessed | GoalSet) -> Text:
    match event:
        case GoalSet():
            return Text(f"◎ goal: {clean(event.objective)}" if event.objective else "◎ the goal was taken back", "cyan")
        case CriticAssessed():
            if event.error:
                return Text(f"◎ critic {clean(event.critic)} failed: {clean(event.error)}", "yellow")
            goal = event.critic == "goal"
            reached, missed = ("goal reached", "goal not reached") if goal else ("good enough", "not good enough")
            so_far = "so far " if event.midway else ""
            line = f"◎ {so_far}{reached if event.success else missed}, {event.score:.2f} of 1"
            line += "" if goal else f", says critic {clean(event.critic)}"
            return Text(line + _reason(event.message), "green" if event.success else "yellow")


def _child(event: ChildStarted | ChildMessaged | ChildWaiting | ChildFinished, named: str) -> Iterator[Text]:
    match event:
        case ChildStarted():
            where = "  in the background" if event.background else ""
            yield Text.assemble(("  ▸ ", "blue"), named, (f"  {event.child_id}{where}", "dim"))
        case ChildMessaged():
            yield Text.assemble(("  ▸ ", "blue"), named, (f" is told: {clean(event.message)}", "dim"))
        case ChildWaiting():
            if event.actions:
                waits = f"{count(len(event.actions), 'action')} to approve"
                yield Text.assemble(("  ▸ ", "blue"), named, (f" has {waits}", "yellow"))
        case ChildFinished():
            good = event.status is ExecutionStatus.FINISHED
            unpriced = sum(spent.unpriced for spent in event.spending.values())
            cost = f"  ·  {money(event.cost, unpriced)}" if event.cost or not unpriced else ""  # the summary says so
            spent = f"  ·  {count(event.steps, 'model call')}{cost}"
            how = "finished" if good else "ended: " + event.status.value.replace("_", " ")
            yield Text.assemble(("  ◂ ", "blue"), f"{named} ", (how, "green" if good else "red"), (spent, "dim"))


def _retried(event: ModelCallRetried) -> str:
    after = f"in {event.wait:.1f} s" if event.wait else "at once"
    other = f" with {event.next_model}" if event.next_model != event.model else ""
    return clean(f"↻ {event.model} failed ({event.code}: {event.detail}): try {event.attempt + 1}{other} {after}")
