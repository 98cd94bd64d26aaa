"""kill -9 of nested conversations at any moment: they never overspend, nothing is done twice, and the tree ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from agentrt import Agent, Conversation, Event, ExecutionStatus, Limits, PermissionRule, Runtime
from agentrt.context.replies import ModelReply
from agentrt.events import (
    ChildStarted,
    ModelCallStarted,
    RunRequested,
)
from agentrt.protocols import ModelRequest
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, finish
from tests import delegating
from tests.simulation import laws

from . import delegator
from .evidence import check_numbering, results
from .killing import killed_after
from .waiting import eventually
from .worker import COUNTED

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent.parent.parent
RUN_SECONDS = 60.0
WORK = 24
"""Model calls of a tree that does its work: two for the top, two for each of two below it, five for each leaf."""


class Tree:
    """One tree of conversations, over as many processes as it takes."""

    def __init__(self, directory: Path, *limits: str) -> None:
        self.store, self.workspace, self._temporary = directory / "store", directory / "workspace", directory / "tmp"
        for path in (self.store, self.workspace, self._temporary):
            path.mkdir(parents=True)
        self._limits = limits
        self.die_at: tuple[str, ...] = ()
        """The point of a commit at which workers die, and the number of the commit."""

    async def run(self, until: float | None = None) -> str | None:
        """Run a worker to its end, what it says then; or kill it so many seconds after it began to work: None."""
        given = [str(self.store), str(self.workspace), *self.die_at, *self._limits]
        program = [sys.executable, "-m", delegator.__name__, *given]
        environment = {**os.environ, "TMPDIR": str(self._temporary)}
        with anyio.fail_after(RUN_SECONDS):
            async with await anyio.open_process(
                program, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=None
            ) as process:
                assert process.stdout is not None
                said = await process.stdout.receive()
                assert said.startswith(b"ready\n")
                code = await killed_after(process, until)
                if code == -signal.SIGKILL:
                    return None
                assert code == 0
                return (said.removeprefix(b"ready\n") or await process.stdout.receive()).decode().strip()

    def sent(self) -> list[int]:
        """The tokens of each model call that was really sent."""
        path = self.workspace / delegator.SENT
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def counted(self) -> Counter[str]:
        """How often each number's call took effect."""
        path = self.workspace / COUNTED
        return Counter(path.read_text().split() if path.exists() else ())

    def logs(self, conversation_id: str = delegator.TOP) -> dict[str, list[Event]]:
        """The logs of the whole tree, by id."""
        directory = self.store / "conversations" / conversation_id
        if not (directory / "events.jsonl").exists():
            return {}
        log = read_conversation(directory)
        found = {conversation_id: log}
        for child_id in dict.fromkeys(event.child_id for event in log if isinstance(event, ChildStarted)):
            found |= self.logs(child_id)
        return found


async def killed_and_finished(tree: Tree, chance: random.Random, kills: int) -> str:
    """Kill it again and again, then let it end; what it says then."""
    seen: dict[str, list[Event]] = {}
    for _ in range(kills):
        if (said := await tree.run(until=chance.uniform(0.0, 0.4))) is not None:
            return said
        logs = tree.logs()
        assert seen.keys() <= logs.keys()
        for name, log in logs.items():
            check_numbering(log)
            assert log[: len(seen.get(name, ()))] == seen.get(name, [])
        seen = logs
    said = await tree.run()
    assert said is not None
    return said


def check_sums(tree: Tree, *, reserved: bool = True) -> None:
    """Law: the ledger at the top has what the logs of all say; that is what was really sent, or more."""
    laws.check_sums(tree.logs(), delegator.TOP, tree.sent(), reserved=reserved)


def check_work(tree: Tree) -> None:
    """Law: each call took effect once, or its model was told that nobody knows; one that may run twice did so."""
    laws.check_work(tree.logs(), tree.counted())


async def works(directory: Path, seed: int, kills: int) -> None:
    """A tree with enough to work: it finishes, and everything is done."""
    tree = Tree(directory, "--cost", "20", "--tokens", "2000000")
    assert await killed_and_finished(tree, random.Random(seed), kills) == ExecutionStatus.FINISHED.value
    logs = tree.logs()
    assert len(logs) == 7
    starts = [event for log in logs.values() for event in log if isinstance(event, ModelCallStarted)]
    assert len(starts) >= WORK
    check_sums(tree)
    check_work(tree)


async def spends(directory: Path, seed: int, kills: int, *limits: str) -> None:
    """A tree that would never end: it ends at its limit, and not beyond."""
    tree = Tree(directory, "--endless", *limits)
    said = await killed_and_finished(tree, random.Random(seed), kills)
    sent, logs = tree.sent(), tree.logs()
    given = dict(zip(limits[::2], limits[1::2], strict=True))
    assert said.split() == ["error", f"max_{limits[0].removeprefix('--')}"], said
    if "--cost" in given:
        assert sum(map(delegator.price, sent)) <= float(given["--cost"])
        assert fold(logs[delegator.TOP]).ledger.cost <= float(given["--cost"])
    if "--tokens" in given:
        assert sum(sent) <= int(given["--tokens"])
        assert fold(logs[delegator.TOP]).ledger.usage.total <= int(given["--tokens"])
    if "--steps" in given:
        runs = sum(isinstance(event, RunRequested) for event in logs[delegator.TOP])
        assert len(sent) <= int(given["--steps"]) * runs
    check_sums(tree, reserved="--cost" in given or "--tokens" in given)


def limits_of(seed: int) -> Sequence[str]:
    return (("--cost", "0.6", "--steps", "9999"), ("--tokens", "120000", "--steps", "9999"), ("--steps", "30"))[
        seed % 3
    ]


async def test_a_tree_is_killed_and_does_its_work(tmp_path: Path) -> None:
    await works(tmp_path, 1, 3)


async def test_a_tree_is_killed_and_does_not_overspend(tmp_path: Path) -> None:
    await spends(tmp_path, 2, 3, "--cost", "0.4", "--steps", "9999")


@pytest.mark.parametrize("seed", range(20))
async def test_trees_are_killed_again_and_again_and_do_their_work(tmp_path: Path, seed: int) -> None:
    await works(tmp_path, seed, random.Random(seed).randint(1, 12))


@pytest.mark.parametrize("seed", range(21))
async def test_trees_are_killed_again_and_again_and_do_not_overspend(tmp_path: Path, seed: int) -> None:
    await spends(tmp_path, seed, random.Random(seed).randint(1, 12), *limits_of(seed))


POINTS = ("taken", "written", "synced", "acknowledged")
COMMITS = 120
"""More commits than a tree has that does its work: those of all its conversations."""


async def dies_at(directory: Path, point: str, occurrence: int) -> None:
    """A tree whose process dies at one place of one commit, and that then does its work."""
    tree = Tree(directory, "--cost", "20", "--tokens", "2000000")
    tree.die_at = (point, str(occurrence))
    await tree.run()
    tree.die_at = ()
    assert await tree.run() == ExecutionStatus.FINISHED.value
    check_sums(tree)
    check_work(tree)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("occurrence", range(1, COMMITS, 5))
async def test_a_tree_dies_in_any_commit(tmp_path: Path, point: str, occurrence: int) -> None:
    await dies_at(tmp_path, point, occurrence + POINTS.index(point))


def _alone(runtime: Runtime) -> bool:
    """Whether all that is open is the top, and what has its place below it."""
    return [host.name for host in runtime.hosts if not host.delegated] == [delegating.TOP]


class Person:
    """Somebody who pauses, interrupts, answers and leaves at random, until the tree has ended."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._directory, self._chance, self._workspace = directory, random.Random(seed), directory / "workspace"
        self._workspace.mkdir()
        self._cuts = seed % 3 == 0
        """Whether it interrupts: then not all of the work is done."""
        rules = (PermissionRule("ask", "terminal", "*1 >>*", "command"),) if seed % 2 else ()
        limits = Limits(max_cost=5.0, max_tokens=3_000_000, tool_concurrency=2)
        self._agent: Agent | None = delegating.agent(limits, stuck=None, rules=rules)

    def _model(self) -> ScriptedLLM:
        plays: dict[str, delegating.Play] = {
            "all": (delegating.delegate("left", "right"), finish("Done.")),
            "left": (delegating.delegate("a", "b"), finish("Left.")),
            "right": (delegating.delegate("c", "d"), finish("Right.")),
        }
        for leaf in delegator.LEAVES:
            steps = (call("terminal", command=f"sleep 0.01; echo {leaf}{number} >> out") for number in range(3))
            plays[leaf] = (*steps, finish(leaf))

        def script(request: ModelRequest) -> ModelReply:
            play = plays[delegating.task_of(request)]
            turn = play[min(delegating.steps_taken(request), len(play) - 1)]
            assert isinstance(turn, ModelReply)
            return turn

        return ScriptedLLM(script, delay=0.004, keep=False)

    async def see_to_the_end(self) -> None:
        """Come and go until it has finished; whatever was said and cut, what was spent is known."""
        for _ in range(200):
            async with Runtime(self._directory / "store", client=self._model()) as runtime:
                made, self._agent = self._agent, None
                given = {} if made is None else {"agent": made, "workspace": self._workspace}
                async with Conversation(id=delegating.TOP, runtime=runtime, **given) as conversation:  # type: ignore[arg-type]
                    await conversation.send_message("all", id="the-task")
                    while await self._stays(conversation):
                        await eventually(partial(_alone, runtime), "children that were cut have left", RUN_SECONDS)
                        if conversation.state.status is ExecutionStatus.FINISHED:
                            return self._check(delegating.Family(conversation, runtime))
            assert not len(runtime.hosts)
        raise AssertionError("it does not end")

    async def _stays(self, conversation: Conversation) -> bool:
        with anyio.fail_after(RUN_SECONDS):
            return await delegating.interferes(conversation, self._chance, cuts=self._cuts, within=0.12)

    def _check(self, family: delegating.Family) -> None:
        delegating.check_sums(family)
        for log in family.all():
            check_numbering(log)
            results(log)
        if not self._cuts:
            out = self._workspace / "out"  # there is none when all that would write was refused
            counted = Counter(out.read_text().split() if out.exists() else ())
            assert set(counted.values()) <= {1}


@pytest.mark.parametrize("seed", range(3))
async def test_a_few_moments(tmp_path: Path, seed: int) -> None:
    await Person(tmp_path, seed).see_to_the_end()


@pytest.mark.parametrize("seed", range(100, 160))
async def test_any_moment(tmp_path: Path, seed: int) -> None:
    await Person(tmp_path, seed).see_to_the_end()
