"""What does the event log cost: appending, resuming, memory; beside SQLite, beside the bare disk, beside the peer?

Resuming: the log of a long run is reopened by a fresh process, its file in memory, until the next message could come;
and up to the end of one more step, whose model reads all; ours as it was let go, and without the memo of that.
Memory: conversations with a message in them that rest, and
that are in a model call.
Appending: N conversations each append one event of 400 bytes to 1 KB, the next when the last is durable, through the
journals of a `FileStore`; the same through a writer thread that commits groups to one SQLite database (write-ahead
log, `synchronous=FULL`), and through the OpenHands SDK's own event log. "Bare" is a thread that writes a line to each
file and syncs, with nobody to tell. Then the same through whole conversations that are sent messages.

The sides take turns. What waits for the disk depends on the hour, so compare only within a run.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import event_log_appends
import event_log_conversations
import harness
import msgspec
from compare_openhands import HOW, Peer, PeerFailed
from event_log_appends import LENGTHS, Appends
from event_log_conversations import SAMPLE, Memory, Resumed
from event_log_peers import log_peer

GOAL_WALL_US = 25.0
"""Microseconds an event, for the most conversations: 40,000 events a second."""

GOAL_FAIRNESS = 2.0
GOAL_TENTH = 0.1
"""What we take by what the peer takes."""

GROUP = 1024
"""Events in a transaction of SQLite at most."""

ENOUGH = 110
"""Seconds after which nothing is repeated any more; a slow machine has used them up before it appends."""

OURS, SQLITE, NAIVE, BARE, PEER = "agentrt", "SQLite", "SQLite, a commit an event", "bare writer", "peer"
BARELY = "agentrt, without a memo"
"""Ours without the memo that a proper end leaves, and that a long log has half of the way."""


class Plan(msgspec.Struct, frozen=True):
    """How much is measured; of the peer's work less, since it takes longer."""

    repeats: int = 3
    peer_appends: int = 2
    seconds: float = 1.0
    counts: Sequence[int] = (1, 100, 1000)
    sent: Sequence[tuple[int, int]] = ((1, 200), (100, 20), (1000, 5))
    peer_sent: Sequence[tuple[int, int]] = ((1, 100), (100, 10))
    logs: Sequence[tuple[int, int]] = ((358, 3_300_000), (10_000, 92_000_000))
    live: int = 300
    peer_live: int = 200


QUICK = Plan(
    repeats=1,
    peer_appends=1,
    seconds=0.2,
    counts=(1, 20),
    sent=((1, 10), (20, 2)),
    peer_sent=((1, 10), (20, 2)),
    logs=((100, 500_000),),
    live=20,
    peer_live=20,
)


class Sheet:
    """The figures so far, a line for each thing and side."""

    def __init__(self) -> None:
        self._lines: dict[str, harness.Figure] = {}

    def add(self, what: str, value: float, unit: str, goal: float | None = None, note: str = "") -> None:
        """One more repeat of a line."""
        line = self._lines.setdefault(what, harness.Figure(what, [], unit, goal, note))
        self._lines[what] = msgspec.structs.replace(line, values=[*line.values, value])

    def compare(self, what: str, goal: float | None = None, side: str = OURS) -> None:
        """A line of what we take by what the peer takes, when both were measured; those of one round together."""
        ours, theirs = (self._lines.get(f"{what}: {whose}") for whose in (side, PEER))
        if ours is not None and theirs is not None:
            for mine, its in zip(ours.values, theirs.values, strict=False):
                self.add(f"{what}: {side} / {PEER}", mine / its, "x", goal)

    def appended(self, where: str, side: str, result: Appends, note: str = "") -> None:
        """What one side appended."""
        self.add(f"{where}, latency, median: {side}", result.median * 1e3, "ms", note=note)
        self.add(f"{where}, latency, p99: {side}", result.p99 * 1e3, "ms")
        self.add(f"{where}, CPU an event: {side}", result.cpu * 1e6, "us")
        self.add(f"{where}, events a second: {side}", result.rate, "1/s")

    def figures(self) -> list[harness.Figure]:
        """All lines, those of one thing under one another."""
        things = list(dict.fromkeys(what.partition(":")[0] for what in self._lines))
        return sorted(self._lines.values(), key=lambda line: things.index(line.what.partition(":")[0]))


class Log:
    """The measurements, one round at a time."""

    def __init__(self, plan: Plan, peer: Peer | None) -> None:
        self._plan, self._peer = plan, peer
        self.sheet = Sheet()

    def appends(self, number: int) -> None:
        """Closed loops over bare journals."""
        plan, sheet = self._plan, self.sheet
        for count in plan.counts:
            where = f"N = {count}"
            own = harness.fresh(event_log_appends.files, count, plan.seconds)
            grouped = harness.fresh(event_log_appends.sqlite, count, plan.seconds, GROUP)
            sheet.appended(where, OURS, own)
            sheet.appended(where, SQLITE, grouped)
            if count == plan.counts[-1]:
                naive = harness.fresh(event_log_appends.sqlite, count, plan.seconds, 1)
                sheet.appended(where, NAIVE, naive)
                sheet.add(f"{where}, wall an event: {OURS}", 1e6 / own.rate, "us", GOAL_WALL_US, "40,000 a second")
            sheet.appended(where, BARE, harness.fresh(event_log_appends.bare, count, plan.seconds))
            if count > 1:
                fairness = f"{where}, most events of one / fewest"
                sheet.add(f"{fairness}: {OURS}", own.fairness, "x", GOAL_FAIRNESS)
                sheet.add(f"{fairness}: {SQLITE}", grouped.fairness, "x")
        if number < plan.peer_appends:
            counts, seconds, lengths = plan.counts, plan.seconds, LENGTHS
            found = self._ask("append", counts=counts, seconds=seconds, lengths=lengths) or ()
            for count, result in zip(counts, found, strict=False):
                sheet.appended(f"N = {count}", PEER, msgspec.convert(result, Appends))

    def sends(self, number: int) -> None:
        """Messages to whole conversations."""
        for count, each in self._plan.sent:
            result = harness.fresh(event_log_conversations.send, count, each)
            self.sheet.appended(f"send_message, N = {count}", OURS, result, f"{each} messages each")
        if number == 0:
            found = self._ask("send", counts=self._plan.peer_sent, lengths=LENGTHS) or ()
            for (count, each), result in zip(self._plan.peer_sent, found, strict=False):
                sent = msgspec.convert(result, Appends)
                self.sheet.appended(f"send_message, N = {count}", PEER, sent, f"{each} messages each")

    def resumes(self) -> None:
        """Long logs reopened, once they are made, by each side in turn."""
        logs = self._plan.logs
        prepared = self._ask("prepare", logs=logs, sample=SAMPLE) or [None] * len(logs)
        try:
            for (events, size), theirs in zip(logs, prepared, strict=True):
                with harness.workplace() as place:
                    self._resume(place, events, size, theirs)
        finally:
            if places := [theirs["place"] for theirs in prepared if theirs]:
                self._ask("discard", places=places)

    def _resume(self, place: Path, events: int, size: int, theirs: Any) -> None:
        size = harness.fresh(event_log_conversations.build, place, events, size)
        os.sync()
        for number in range(self._plan.repeats):
            if not number or spent() < ENOUGH / 2:
                without = harness.fresh(event_log_conversations.resume, place, memo=False)
                self._resumed(events, BARELY, without, size)
                own = harness.fresh(event_log_conversations.resume, place)
                self._resumed(events, OURS, own, size)
                self._resume_theirs(events, theirs)

    def _resume_theirs(self, events: int, prepared: Any) -> None:
        if prepared:
            found = self._ask("resume", place=prepared["place"], conversation=prepared["conversation"])
            if found:
                self._resumed(events, PEER, msgspec.convert(found, Resumed), prepared["bytes"])

    def _resumed(self, events: int, side: str, result: Resumed, size: int) -> None:
        where = f"resume {events} events"
        self.sheet.add(f"{where}, wall: {side}", result.wall * 1e3, "ms", note=f"{size / 1e6:.1f} MB")
        self.sheet.add(f"{where}, and one step: {side}", result.stepped * 1e3, "ms")
        self.sheet.add(f"{where}, memory added: {side}", result.memory / 1e6, "MB")
        self.sheet.add(f"{where}, most memory meanwhile: {side}", result.peak / 1e6, "MB")

    def memory(self, number: int) -> None:
        """Conversations that rest, and that work."""
        own = harness.fresh(event_log_conversations.memory, self._plan.live)
        self._remembered(OURS, own, self._plan.live)
        if number == 0:
            count = self._plan.peer_live
            if theirs := self._ask("memory", conversations=count):
                self._remembered(PEER, msgspec.convert(theirs, Memory), count)

    def _remembered(self, side: str, result: Memory, count: int) -> None:
        self.sheet.add(f"memory, idle: {side}", result.idle / 1024, "KB", note=f"the mean of {count}")
        self.sheet.add(f"memory, in a model call: {side}", result.awake / 1024, "KB")

    def compare(self) -> None:
        """Ours by the peer's, for what has a goal and what has none."""
        for count in self._plan.counts:
            self.sheet.compare(f"N = {count}, CPU an event", GOAL_TENTH)
        for events, _ in self._plan.logs:
            self.sheet.compare(f"resume {events} events, wall", GOAL_TENTH)
            self.sheet.compare(f"resume {events} events, wall", GOAL_TENTH, BARELY)
            self.sheet.compare(f"resume {events} events, and one step")
            self.sheet.compare(f"resume {events} events, memory added")
        self.sheet.compare("memory, idle")
        self.sheet.compare("memory, in a model call")

    def _ask(self, name: str, **given: Any) -> Any:
        """What the peer gives; None without one, or when it fails, which is said."""
        if self._peer is None:
            return None
        try:
            return self._peer.work(name, **given)
        except PeerFailed as failure:
            print(f"the peer gave no {name}: {failure}")
            return None


BEGUN = time.monotonic()


def spent() -> float:
    """Seconds since the program began."""
    return time.monotonic() - BEGUN


def main() -> None:
    """Measure, and report."""
    parser = harness.parser(__doc__)
    harness.add_peer(parser)
    options = parser.parse_args()
    harness.set_directory(options.dir)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    peer, name = log_peer(options.peer) if options.peer else None, "no peer"
    if peer is None:
        print(HOW)
    else:
        try:
            found = peer.work("version")
        except PeerFailed as failure:
            parser.error(f"the peer does not answer: {failure}")
        name = f"peer: OpenHands SDK {found['version']}, Python {found['python']}"
    plan = QUICK if options.quick else Plan()
    log = Log(plan, peer)
    log.resumes()
    for measure in (log.appends, log.sends, log.memory):
        for number in range(plan.repeats):
            if not number or spent() < ENOUGH:
                measure(number)
    log.compare()
    harness.report(f"bench_event_log: what the event log costs ({name})", log.sheet.figures(), options.json)


if __name__ == "__main__":
    main()
