"""What a worker leaves behind, and the laws that it must satisfy."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import anyio
import msgspec

from agentrt import Event, ExecutionStatus
from agentrt.errors import ConversationMissing
from agentrt.events import ActionEvent, AgentErrorEvent, ExecutionStarted, ObservationEvent, UserRejectObservation
from agentrt.specs import BlobReference
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.storage.blobs import read_blob

from .worker import ACKNOWLEDGED, COUNTED, SEEN, UNFINISHED, Death, live

WORKER = Path(__file__).with_name("worker.py")
NAME = "counting"
COUNTING = ("count", "recount", "terminal")
RUN_SECONDS = 60.0

Outcome = ObservationEvent | AgentErrorEvent | UserRejectObservation


class Work:
    """One conversation of the worker, over as many processes as it takes."""

    def __init__(self, directory: Path) -> None:
        self.store, self.workspace, self._temporary = directory / "store", directory / "workspace", directory / "tmp"
        for path in (self.store, self.workspace, self._temporary):
            path.mkdir()
        self.directory = self.store / "conversations" / NAME
        self.log = self.directory / "events.jsonl"

    def command(self, point: str = "none", occurrence: int = 1) -> list[str]:
        """The worker's command line."""
        return [sys.executable, str(WORKER), str(self.store), NAME, str(self.workspace), point, str(occurrence)]

    @property
    def environment(self) -> dict[str, str]:
        """The worker's environment: what it leaves in its temporary directory goes with the test's."""
        return {**os.environ, "TMPDIR": str(self._temporary)}

    async def run(self, point: str = "none", occurrence: int = 1) -> int:
        """Run a worker to its end or death; its exit code."""
        with anyio.fail_after(RUN_SECONDS):
            ended = await anyio.run_process(
                self.command(point, occurrence), env=self.environment, check=False, stderr=None
            )
        return ended.returncode

    async def finish_here(self) -> int:
        """Do in this process what a worker does; its exit code."""
        with anyio.fail_after(RUN_SECONDS):
            state = await live(self.store, NAME, self.workspace, Death("none", 1))
        return 0 if state.status is ExecutionStatus.FINISHED else UNFINISHED

    def events(self) -> list[Event]:
        """The log, as recovery would find it now; it is only read."""
        try:
            return read_conversation(self.directory)
        except ConversationMissing:
            return []

    def acknowledged(self) -> list[tuple[int, str]]:
        """The (seq, id) that workers saw, in the order in which they did."""
        return [(int(line.split()[0]), line.split()[1]) for line in _lines(self.workspace / ACKNOWLEDGED)]

    def counted(self) -> Counter[int]:
        """How often each number's call took effect."""
        return Counter(int(line) for line in _lines(self.workspace / COUNTED))

    def last_told(self) -> list[str]:
        """The tool results that the last model call was given."""
        return msgspec.json.decode(_lines(self.workspace / SEEN)[-1], type=list[str])


def _lines(path: Path) -> list[str]:
    return list(filter(None, path.read_text().splitlines())) if path.exists() else []


def number_of(action: ActionEvent) -> int | None:
    """The number that an action counts; None when it counts none."""
    found = re.search(rb"\d+", action.arguments_json)
    return int(found[0]) if found is not None and action.tool_name in COUNTING else None


def in_flight(events: Sequence[Event]) -> dict[str, ActionEvent]:
    """The executions that a log says were begun, by their commands, without a result."""
    return {p.command: p.action for p in fold(events).branch.pending if p.command is not None}


def results(events: Sequence[Event]) -> dict[str, Outcome]:
    """Each action's result. Fails when one has two."""
    found: dict[str, Outcome] = {}
    for event in events:
        if isinstance(event, Outcome):
            assert event.action_id not in found, f"action {event.action_id} has two results"
            found[event.action_id] = event
    return found


def blobs(events: Sequence[Event]) -> list[BlobReference]:
    """The blobs that observations name."""
    shown = [block for event in events if isinstance(event, ObservationEvent) for block in event.content]
    return [block for block in shown if isinstance(block, BlobReference)]


def check_numbering(events: Sequence[Event]) -> None:
    """Law: seq is contiguous from 1, and no id comes twice."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len({event.id for event in events}) == len(events)


def check_death(work: Work, earlier: Sequence[Event]) -> list[Event]:
    """Laws of a log after a death: it continues what it was, and has all that was acknowledged, and its blobs."""
    events = work.events()
    check_numbering(events)
    for blob in blobs(events):
        assert len(read_blob(work.directory / "blobs", blob.sha256)) == blob.size
    assert events[: len(earlier)] == list(earlier)
    recovered = {event.seq: event.id for event in events}
    for seq, event_id in work.acknowledged():
        assert recovered.get(seq) == event_id, f"event {seq} was acknowledged and is gone"
    return events


def check_finished(work: Work, deaths: Sequence[Sequence[Event]]) -> None:
    """Laws of a finished run, given the logs that its deaths left."""
    events = check_death(work, deaths[-1] if deaths else ())
    state = fold(events)
    assert state.status is ExecutionStatus.FINISHED, state.error
    assert not state.in_flight
    assert len(blobs(events)) + len(deaths) >= 1
    outcomes, counted = results(events), work.counted()
    starts = Counter(event.action_id for event in events if isinstance(event, ExecutionStarted))
    actions = [event for event in events if isinstance(event, ActionEvent)]
    assert {action.id for action in actions} == set(outcomes)
    assert {number_of(action) for action in actions} - {None} == set(range(1, 12))
    executions = {command: action.id for death in deaths for command, action in in_flight(death).items()}
    cut = Counter(executions.values())
    for action in actions:
        number = number_of(action)
        effects = None if number is None else counted[number]
        _check_action(action, outcomes[action.id], starts[action.id], cut[action.id], effects)
    _check_told(work, outcomes)


def _check_action(action: ActionEvent, outcome: Outcome, starts: int, cut: int, effects: int | None) -> None:
    what = f"{action.tool_name} {bytes(action.arguments_json).decode()}: {starts} starts, {cut} cut, {effects} effects"
    if action.tool_name in ("recount", "finish"):
        assert isinstance(outcome, ObservationEvent), what
        assert starts == 1 + cut, what
        assert effects is None or 1 <= effects <= starts, what
    elif cut:
        assert isinstance(outcome, AgentErrorEvent), what
        assert "unknown" in outcome.error
        assert (starts, cut) == (1, 1), what
        assert effects is None or effects <= 1, what
    else:
        assert isinstance(outcome, ObservationEvent), what
        assert starts == 1, what
        assert effects in (None, 1), what


def _check_told(work: Work, outcomes: dict[str, Outcome]) -> None:
    """Law: the model was told of each unknown outcome, and in its last call of every one."""
    unknown = [outcome.error for outcome in outcomes.values() if isinstance(outcome, AgentErrorEvent)]
    last = work.last_told()
    assert sum(text.startswith("Error: ") for text in last) == len(unknown)
    for error in unknown:
        assert f"Error: {error}" in last
