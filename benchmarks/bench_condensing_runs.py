"""What the summaries of recorded runs keep, and what `recall` finds, of what later steps use again.

A run of SWE-agent is lived again: a model says its thoughts and calls one after the other, and a tool gives what was
observed. The view is condensed every few events, and the model that is to sum up fails, so that all that is kept was
extracted. At each step every path and failed command of its call that stands in events which the agent no longer sees
is looked up in the summary that it sees, and by `recall`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from agentrt import LLM, Agent, Conversation, LLMSummarizingCondenser, Runtime, ToolType
from agentrt.context.condensing import SUMMARY_SHARE
from agentrt.context.extracting import found_in
from agentrt.context.recalling import found, no_longer_seen
from agentrt.context.replies import ModelReply
from agentrt.context.summaries import bounded, rendered
from agentrt.context.texts import text_of
from agentrt.errors import ModelError, ModelUnavailable
from agentrt.events import ActionEvent, Condensation, Event, ModelVisible, ObservationEvent
from agentrt.protocols import ModelRequest, Observation, ToolContext
from agentrt.specs import StuckDetection
from agentrt.specs.condensers import WINDOW_SHARE
from agentrt.specs.content import plain, text
from agentrt.state import State, apply
from agentrt.state.seeing import tokens_seen
from agentrt.storage.memory import MemoryStorage
from agentrt.testing import ScriptedLLM, call, finish

SIZE = 10
"""Events from which on a view is condensed: the runs are short."""

WINDOW = 32_000
LEAST_KEPT = 0.95
ASKS = "is about to be taken out of your view"

_WORD = re.compile(r"[^\s'\"`()\[\]{}<>:;,|&$*?!\\=]+")
_PATH = re.compile(r"~?/?(?:[\w.@+-]+/)+[\w.@+-]*|/[\w.@+-]+|[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,5}")
_FAILED = re.compile(
    r"command not found|No such file|Traceback \(most recent|Error:|error:|syntax error|cannot |not found|failed|Failed"
)


class Step(msgspec.Struct, frozen=True):
    """One step of a run."""

    thought: str
    command: str
    observed: str

    @property
    def has_failed(self) -> bool:
        """Whether what was observed tells of a failure, as a shell's exit code would."""
        return bool(_FAILED.search(self.observed[:4000])) and not self.observed.startswith("[File: ")


def read_run(path: Path) -> tuple[str, list[Step]]:
    """The task of a run, and its steps. A demonstration has no steps but in its history."""
    run = json.loads(path.read_text())
    history = run["history"]
    task = next(_words(one) for one in history if one["role"] == "user" and not one.get("is_demo"))
    steps = run.get("trajectory")
    if not steps:
        asked = [one for one in history if one["role"] == "assistant"]
        told = [_words(one) for one in history if one["role"] in ("tool", "user")][-len(asked) :]
        steps = [
            {"thought": one.get("thought", ""), "action": one.get("action", ""), "observation": what}
            for one, what in zip(asked, told, strict=False)
        ]
    return task, [Step(one["thought"] or "", one["action"] or "", one["observation"] or "") for one in steps]


def _words(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


class ShellAction(msgspec.Struct, frozen=True):
    """Arguments of the shell."""

    command: str


class Shown(Observation, frozen=True, kw_only=True):
    """What was observed."""

    exit_code: int


class Recorded:
    """A shell that gives what was observed."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = iter(steps)

    async def __call__(self, action: ShellAction, context: ToolContext) -> Observation:
        step = next(self._steps)
        return Shown(content=text(step.observed), exit_code=int(step.has_failed))

    async def aclose(self) -> None: ...


async def lived(path: Path) -> list[Event]:
    """The events of a run that is lived again."""
    task, steps = read_run(path)
    turns = [*(call("shell", step.thought, command=step.command) for step in steps), finish("Done.")]
    left = iter(turns)

    def script(request: ModelRequest) -> ModelReply | ModelError:
        if ASKS in plain(request.messages[-1].content):
            return ModelUnavailable("it sums nothing up")
        return next(left)

    shell = ToolType(name="shell", description="A shell.", action=ShellAction, executor=lambda params: Recorded(steps))
    agent = Agent(
        llm=LLM(model="scripted", max_input_tokens=WINDOW),
        tools=("recall",),
        condenser=LLMSummarizingCondenser(max_size=SIZE),
        stuck=StuckDetection(monologue=99),
    )
    async with Runtime(MemoryStorage(), client=ScriptedLLM(script)) as runtime:
        async with Conversation(agent, Path.cwd(), tools=[shell], runtime=runtime) as conversation:
            await conversation.send_message(task)
            await conversation.run()
            return [event async for event in conversation.events()]


def used(command: str) -> Iterator[str]:
    """The paths that a command names: found otherwise than a summary finds them."""
    for word in _WORD.findall(command.strip().partition("\n")[0]):  # what follows is text that is written
        word = word.strip(".-+")
        if _PATH.fullmatch(word) and re.search(r"[A-Za-z]", word) and not re.fullmatch(r"s/.*/.*/\w?", word):
            yield word


def uses(events: list[Event]) -> Iterator[tuple[str, str, bool, bool]]:
    """For each call, what it uses that the agent no longer sees: the kind, what it is, and whether it stands in the
    summary and is recalled.
    """
    state, before = State(), list[Event]()
    failed = {event.action_id for event in events if _has_failed(event)}
    for event in events:
        if isinstance(event, ActionEvent) and event.tool_name == "shell":
            yield from _uses_of(event, state, before, failed)
        state = apply(state, event)
        before.append(event)


def _uses_of(
    event: ActionEvent, state: State, before: list[Event], failed: set[str]
) -> Iterator[tuple[str, str, bool, bool]]:
    view, known = list(state.branch.view), {one.seq: one for one in before}
    gone = [one for one in no_longer_seen(before) if text_of(one) is not None]
    shown = [known[seen.seq] for seen in view if seen.type == "CondensationSummaryEvent"]
    summary = "\n".join(one.summary for one in shown if isinstance(one, Condensation))
    yield from _kept(event, gone, summary, failed)


def cuts_of(events: list[Event]) -> Iterator[tuple[str, str, bool, bool]]:
    """The same for every place where the whole run could have been cut, and all that comes after it."""
    failed = {event.action_id for event in events if _has_failed(event)}
    said = [one for one in events if text_of(one) is not None]
    ends = [place + 1 for place, one in enumerate(said) if isinstance(one, ObservationEvent)]
    for end in ends:
        gone, later = said[1:end], said[end:]
        tokens = sum(tokens_seen(one) for one in gone if isinstance(one, ModelVisible))
        room = min(int(WINDOW * WINDOW_SHARE / 2 * SUMMARY_SHARE), tokens // 2)
        summary = rendered(bounded(found_in(gone), room))
        for event in later:
            if isinstance(event, ActionEvent) and event.tool_name == "shell":
                yield from _kept(event, gone, summary, failed)


def _kept(
    event: ActionEvent, gone: list[Event], summary: str, failed: set[str]
) -> Iterator[tuple[str, str, bool, bool]]:
    said = "\n".join(entry[1] for one in gone if (entry := text_of(one)) is not None)
    command = _command(event)
    for path in dict.fromkeys(used(command)):
        if path in said:
            yield "path", path, path in summary, bool(found(gone, path, 10)[0])
    line = " ".join(command.split())
    again = [one for one in gone if isinstance(one, ActionEvent) and one.id in failed]
    if line and any(" ".join(_command(one).split()) == line for one in again):
        yield "failed command", line, line[:250] in summary, bool(found(gone, command.strip(), 10)[0])


def _has_failed(event: Event) -> TypeGuard[ObservationEvent]:
    return isinstance(event, ObservationEvent) and b'"exit_code":1' in bytes(event.details_json or b"")


def _command(event: ActionEvent) -> str:
    return msgspec.json.decode(event.arguments_json, type=ShellAction).command


async def report_runs(directory: Path) -> int:
    """Print what is kept of each run, and give the exit code: 1 where less is than should be."""
    ways = {"the run as it was condensed": uses, "every cut that could have been": cuts_of}
    total, kept, recalled = ([0, 0] for _ in range(3))
    for path in sorted(directory.glob("*.traj")):
        events = await lived(path)
        for way, of in enumerate(ways.values()):
            rows = list(of(events))
            total[way] += len(rows)
            kept[way] += sum(row[2] for row in rows)
            recalled[way] += sum(row[3] for row in rows)
            missing = Counter((kind, what) for kind, what, *there in rows if not all(there))
            for (kind, what), times in missing.items():
                print(f"    not kept, {times} times: {kind} {what[:80]!r}")
        made = sum(isinstance(event, Condensation) for event in events)
        print(f"{path.stem[:60]:60} {len(events):4} events {made:3} condensations")
    good = True
    for way, name in enumerate(ways):
        share = kept[way] / max(total[way], 1)
        good = good and total[way] > 0 and recalled[way] == total[way] and share >= LEAST_KEPT
        print(
            f"{name}: {total[way]} uses of what is gone, {recalled[way]} recalled, {kept[way]} summed up ({share:.1%})"
        )
    return 0 if good else 1
