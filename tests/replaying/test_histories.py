"""Every kind of conversation comes again as it was recorded: whole, from the log alone, and wherever it ends."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from agentrt import Conversation, CriticResult, Runtime
from agentrt.context.replies import ModelReply
from agentrt.events import InterruptEvent, ModelCalled
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, finish

from .histories import EXPECTED, HISTORIES, Marks, silent, verdict
from .recorder import Recorded, recorded, same

pytestmark = pytest.mark.real


@pytest.fixture(params=HISTORIES)
async def made(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    found = await HISTORIES[request.param](tmp_path)
    kinds = {type(event) for event in found.events}
    assert kinds >= EXPECTED[request.param], "the history has what it is about"
    return found


async def test_a_history_is_replayed(made: Recorded, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    before = trace.read_text() if trace.exists() else ""
    await same(made.events, made.tools)
    await same(made.events)
    assert (trace.read_text() if trace.exists() else "") == before, "no hook has run"


@pytest.mark.parametrize("places", [2, pytest.param(1000, marks=pytest.mark.long)])
async def test_a_history_that_ends_anywhere(made: Recorded, places: int) -> None:
    """After one of its batches: what would come next is not missed."""
    for end in _some(made.ends, places):
        await same(made.events[:end], made.tools)


@pytest.mark.parametrize("places", [1, pytest.param(5, marks=pytest.mark.long)])
async def test_a_crash_anywhere_is_replayed(made: Recorded, tmp_path: Path, places: int) -> None:
    """Another process goes on with the beginning of a history, to the end; always also after an interrupt, before the
    outcome of what it cut.
    """
    cuts = [event.seq for event in made.of(InterruptEvent)]
    after_cuts = {end for last, end in pairwise((0, *made.ends)) if any(last < seq <= end for seq in cuts)}
    for number, end in enumerate(sorted({*_some(made.ends, places), *after_cuts})):
        store = tmp_path / f"crashed-{number}"
        shutil.copytree(tmp_path / "store", store)
        directory = store / "conversations" / made.name
        (directory / "memo.bin").unlink(missing_ok=True)
        lines = (directory / "events.jsonl").read_bytes().splitlines(keepends=True)
        (directory / "events.jsonl").write_bytes(b"".join(lines[: len(lines) - (made.ends[-1] - end)]))
        with anyio.fail_after(20):
            await _go_on(store, made)
        after = recorded(store, made.name)
        assert after.events[:end] == made.events[:end]
        await same(after.events, made.tools)


async def test_of_a_judge_that_was_cut_twice_only_the_second_time_is_known(tmp_path: Path) -> None:
    """A process died before it could say that its judge was cut, and so the next one began another."""
    made = await HISTORIES["a_judge_is_cut"](tmp_path)
    interrupt = next(event.seq for event in made.of(InterruptEvent))
    before, (cut, outcome, run, *rest) = made.events[: interrupt - 1], made.events[interrupt - 1 :]
    assert isinstance(outcome, ModelCalled)
    again = [replace(event, id=f"{event.id}-again") for event in (run, cut)]
    events = [*before, cut, *again, outcome, run, *rest]
    await same([replace(event, seq=seq) for seq, event in enumerate(events, 1)], made.tools)


async def _go_on(store: Path, made: Recorded) -> None:
    """Open a conversation in another process, and run it to its end."""
    async with Runtime(
        store,
        client=ScriptedLLM(_to_the_end),
        tools=made.tools,
        hooks={"says": silent},
        critics={"marks": lambda: Marks(CriticResult(1.0))},
    ) as runtime:
        async with Conversation(id=made.name, runtime=runtime, tools=made.tools) as conversation:
            while (await conversation.run()).status == "waiting_for_confirmation":
                await conversation.confirm()


def _some(ends: Sequence[int], number: int) -> Sequence[int]:
    """Places all over a history, others in each; all, where there are not so many."""
    step = max(len(ends) // number, 1)
    return ends[sum(ends) % step :: step]


def _to_the_end(request: ModelRequest) -> ModelReply:
    judging = plain(request.messages[0].content).startswith("You judge")
    return verdict(1.0, complete=True) if judging else finish("Done.")
