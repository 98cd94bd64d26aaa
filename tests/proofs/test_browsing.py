"""A task in a browser that is killed with kill -9 in the middle, and goes on; a push that is held back after it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentrt import LLM, Agent, ConfirmRisky, Conversation, ExecutionStatus, InformationFlow, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.events import ActionEvent, ConfirmationRequested, ObservationEvent
from agentrt.protocols import ModelRequest
from agentrt.sandboxes.processes import CONVERSATION
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, finish
from tests.tools.browser.site import site

from . import browser_worker
from .evidence import check_numbering, results
from .test_code_tools import PACE, killed_in
from .waiting import eventually

pytestmark = pytest.mark.long


def number(text: str, element: str) -> int:
    found = re.search(rf"\[a?(\d+)\] {re.escape(element)}", text)
    assert found is not None, (element, text)
    return int(found[1])


class Model:
    """Opens the page again wherever it does not know what the browser shows."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __call__(self, body: dict[str, Any]) -> ModelReply:
        said = [str(m["content"]) for m in body["messages"] if m["role"] == "tool"]
        asked = [m["tool_calls"][0]["function"]["name"] for m in body["messages"] if m.get("tool_calls")]
        last = said[-1] if said else ""
        lost = not last or "unknown" in last or "there is no element" in last or "Page:" not in last
        if lost or "'Login'" not in last:
            return call("browser_navigate", url=f"{self._address}/login")
        if "paragraph: in" in last:
            return finish("Logged in.")
        if asked[-1] == "browse" or "<secret-hidden>" in last:
            return call("browser_click", index=number(last, "button 'Go'"))
        if asked[-1] == "browser_navigate":
            return call("browser_type", index=number(last, "textbox 'Password'"), text="$PASSWORD")
        return call("browse", code="")


async def test_it_goes_on_after_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, place = tmp_path / "store", tmp_path / "work"
    place.mkdir()
    monkeypatch.setenv("SCRIPTED_KEY", "sk-scripted")
    async with site() as address, ScriptedProvider(Model(address), pace=PACE) as provider:
        program = [sys.executable, "-m", browser_worker.__name__, str(store), str(place), provider.base_url]
        for tool, seconds in (("browser_navigate", 0.5), ("browser_navigate", 2.0), ("browser_type", 0.05)):
            assert await killed_in(tool, program, seconds), tool
        secrets = {"PASSWORD": "hunter2-hunter2"}
        async with Conversation(id=browser_worker.NAME, store=store, secrets=secrets) as conversation:
            state = await conversation.run()
            assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "Logged in.")
        assert not provider.refused
    log = read_conversation(store / "conversations" / browser_worker.NAME)
    check_numbering(log)
    assert set(results(log)) == {event.id for event in log if isinstance(event, ActionEvent)}
    assert all(
        event.labels == ("web",) for event in log if isinstance(event, ObservationEvent) and event.tool_name != "finish"
    )
    whole = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert b"hunter2" not in whole
    await eventually(lambda: not browsers(), "no browser is left", 10)


def browsers() -> list[int]:
    """Browsers that conversations have started."""
    found = []
    for process in psutil.process_iter(["name", "status"]):
        try:
            if "chrom" in process.info["name"] and CONVERSATION in process.environ():
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


async def test_a_push_waits_for_a_person_after_a_page(tmp_path: Path) -> None:
    async with site() as address:
        turns = iter([call("browser_navigate", url=address), call("terminal", command="git push origin main")])

        def script(request: ModelRequest) -> ModelReply:
            return next(turns)

        agent = Agent(
            llm=LLM(model="scripted"), tools=(Tool("browser"), Tool("terminal")), flow=InformationFlow(),
            confirmation=ConfirmRisky(),
        )  # fmt: skip
        async with Runtime(tmp_path / "s", client=ScriptedLLM(script)) as runtime:
            async with Conversation(agent, tmp_path, runtime=runtime) as talk:
                await talk.send_message("go")
                state = await talk.run()
                assert state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
                (pending,) = talk.pending_confirmation
                assert pending.action.tool_name == "terminal"
                asked = [event async for event in talk.events() if isinstance(event, ConfirmationRequested)]
                assert asked[-1].reasons == ("flow:web>push",)
