"""A task with a PDF, a table and a kernel, whose code waits for a person over restarts and a kill -9, and goes on."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentrt import Conversation, ExecutionStatus
from agentrt.context.replies import ModelReply
from agentrt.events import ActionEvent, ExecutionStarted, ObservationEvent
from agentrt.replaying import replay
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, call, finish

from . import kernel_worker
from .evidence import check_numbering, results
from .test_code_tools import PACE, killed_in
from .waiting import eventually

pytestmark = pytest.mark.long

DOCUMENTS = Path(__file__).parent.parent / "documents" / "files"
CELL = """
import os
assert not [name for name in os.environ if "KEY" in name]
size = await tools.terminal(command="wc -c < paper.pdf")
rows = (await tools.read_document(path="counts.xlsx")).count("|")
await tools.write_file(file_path="note.txt", content=f"{size.split()[0]} bytes")
print("noted", rows)
"""


def model(body: dict[str, Any]) -> ModelReply:
    """Reads both, works on them in a cell, and looks at what came of it."""
    said = [str(m["content"]) for m in body["messages"] if m["role"] == "tool"]
    asked = [m["tool_calls"][0]["function"]["name"] for m in body["messages"] if m.get("tool_calls")]
    if "paper.pdf: PDF" not in str(said):
        return call("read_document", path="paper.pdf", query="")
    if "counts.xlsx: " not in str(said):
        return call("read_document", path="counts.xlsx")
    if asked[-1] != "ipython" or ("The kernel ended" in said[-1] and "- write_file(" not in said[-1]):
        return call("ipython", code=CELL)
    if "bytes" in said[-1] and "The kernel ended" not in said[-1]:
        return finish("Noted.")
    return call("ipython", code="print(open('note.txt').read())")


async def test_it_goes_on_over_restarts_and_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, place = tmp_path / "store", tmp_path / "work"
    place.mkdir()
    for name in ("paper.pdf", "counts.xlsx"):
        shutil.copy(DOCUMENTS / name, place)
    monkeypatch.setenv("SCRIPTED_KEY", "sk-scripted")
    async with ScriptedProvider(model, pace=PACE) as provider:
        program = [sys.executable, "-m", kernel_worker.__name__, str(store), str(place), provider.base_url]
        assert await killed_in("read_document", program, 0.0)
        assert await killed_in("ipython", program, 0.3)
        assert await killed_in(kernel_worker.WAITS, program, 0.2)
        async with Conversation(id=kernel_worker.NAME, store=store) as talk:
            assert (await talk.run()).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        async with Conversation(id=kernel_worker.NAME, store=store) as talk:
            assert talk.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
            (waiting,) = talk.pending_confirmation
            assert waiting.action.tool_name == "write_file"
            await talk.confirm()
            state = await talk.run()
            assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "Noted."), state.error
        assert not provider.refused
    size = (place / "paper.pdf").stat().st_size
    assert (place / "note.txt").read_text() == f"{size} bytes"
    log = read_conversation(store / "conversations" / kernel_worker.NAME)
    check_numbering(log)
    actions = {event.id: event for event in log if isinstance(event, ActionEvent)}
    assert set(results(log)) == set(actions)
    written = [one for one in actions.values() if one.tool_name == "write_file"]
    begun = [event.action_id for event in log if isinstance(event, ExecutionStarted)]
    assert [begun.count(one.id) for one in written] == [1]
    told = [plain(e.content) for e in log if isinstance(e, ObservationEvent) and e.tool_name == "ipython"]
    assert any("The kernel ended in the middle of this cell" in each and "- write_file(" in each for each in told), told
    assert told[-1] == f"{size} bytes"
    assert b"sk-scripted" not in b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    done = await replay(log)
    assert done.difference is None, done.difference
    await eventually(lambda: not kernels(place), "no kernel is left", 10)


def kernels(place: Path) -> list[int]:
    """Kernels that work in a directory."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        try:
            if "ipykernel_launcher" in process.info["cmdline"] and process.cwd() == str(place):
                found.append(process.pid)
        except (psutil.Error, TypeError):
            continue
    return found
