"""A full window: condensed, killed in the middle of that, resumed, rewound, forked and replayed; and two owners."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import msgspec
import pytest

from agentrt import Agent, AgentContext, Conversation, ExecutionStatus, Runtime, Tool
from agentrt.events import Condensation, Event
from agentrt.protocols import ModelRequest
from agentrt.replaying import replay
from agentrt.server import ServerSettings, create_app
from agentrt.server.principals import Scope
from agentrt.server.running import serving
from agentrt.specs import LLM
from agentrt.specs.content import plain
from agentrt.specs.memory import KIND, memory_name
from agentrt.storage import open_storage, read_conversation
from agentrt.testing import ScriptedLLM, ScriptedProvider, Stall, call, context_window, finish, say
from agentrt.testing.scripted import Turn
from tests.condensing import QUESTION
from tests.stores import make_key

from . import condensing_worker
from .condensing_worker import TOP, WINDOW
from .killing import killed_after
from .waiting import eventually

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent.parent.parent
STEPS = 60
SUMMARY = "## Task\nCount to sixty.\n## Decisions\n- one number a step\n## Open\n- the numbers that are left"


class Provider:
    """Has the agent count, and sums up; the first time it is asked to it says nothing, for ever."""

    def __init__(self) -> None:
        self.held, self.asked, self.largest, self.recalled = True, 0, 0, False

    def __call__(self, body: dict[str, Any]) -> Any:
        size = len(msgspec.json.encode(body)) // 4
        self.largest = max(self.largest, size)
        if size > WINDOW:
            return context_window("chat")
        messages = body["messages"]
        if QUESTION in json.dumps(messages[-1]):
            self.asked += 1
            return Stall("## Ta") if self.held else say(SUMMARY)
        counted = json.dumps(messages).split("number-")[1:]
        last = max((int(word.split("-")[0]) for word in counted), default=0)
        if last < STEPS:
            command = f"echo number-{last + 1}- word{(last + 1) * 7}; seq 1 250"
            return call("terminal", f"Now {last + 1}.", command=command)
        if not any("events that you no longer see" in json.dumps(message) for message in messages[-3:]):
            return call("recall", query="number-3- word")
        self.recalled = True
        return finish("It was word21.")


def condensations(events: list[Event]) -> list[Condensation]:
    return [event for event in events if isinstance(event, Condensation)]


@pytest.mark.long
async def test_a_full_window_outlives_a_kill_a_rewind_and_a_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, place, script = tmp_path / "store", tmp_path / "place", Provider()
    place.mkdir()
    monkeypatch.setenv("SCRIPTED_KEY", "sk-scripted")
    async with ScriptedProvider(script) as provider:
        program = [sys.executable, "-m", condensing_worker.__name__, str(store), str(place), provider.base_url]
        async with await anyio.open_process(program, cwd=PROJECT, stdout=subprocess.PIPE, stderr=None) as process:
            await eventually(lambda: script.asked == 1, "a summary is asked for", 60)
            await killed_after(process, 0)
        cut = read_conversation(store / "conversations" / TOP)
        assert not condensations(cut), "nothing was condensed yet"
        script.held = False
        async with Runtime(store) as runtime:
            async with Conversation(id=TOP, runtime=runtime) as conversation:
                state = await conversation.run()
                assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "It was word21.")
                events = [event async for event in conversation.events()]
                assert [event.id for event in events[: len(cut)]] == [event.id for event in cut]
                made = condensations(events)
                assert len(made) >= 3
                assert not [event.problem for event in made if event.problem]
                first = made[0]
                fork = await conversation.fork(first.seq)
                await conversation.rewind(first.seq - 1)
                back = conversation.state.branch
                assert not any(seen.type == "CondensationSummaryEvent" for seen in back.view), "all is there again"
                assert {seen.id for seen in back.view} >= {*first.forgotten_event_ids}
                state = await conversation.run()
                assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "It was word21.")
            async with fork:
                assert any(seen.type == "CondensationSummaryEvent" for seen in fork.state.branch.view)
                state = await fork.run()
                assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "It was word21.")
                forked = fork.id
        assert provider.refused == []
    assert script.recalled
    assert script.largest <= WINDOW, "no call is longer than the window"
    for name in (TOP, forked):
        log = read_conversation(store / "conversations" / name)
        played = await replay(log)
        assert played.difference is None, played.difference
        assert played.events == len(log)


OWNERS = ("ada", "bob")


def told_by(owner: str) -> list[str]:
    """What only that owner may ever read again."""
    return [f"{owner}-said-{kind}" for kind in ("words", "project", "person")]


async def talked(session: aiohttp.ClientSession, url: str, key: str, place: Path, message: str) -> str:
    """The address of a conversation in which that was said, once it has finished."""
    header = {"Authorization": f"Bearer {key}"}
    wanted = {"workspace": str(place), "message": message}
    async with session.post(f"{url}/conversations", json=wanted, headers=header) as made:
        assert made.status == 201, await made.text()
        at = f"{url}/conversations/{(await made.json())['id']}"

    async def finished() -> bool:
        async with session.get(at, headers=header) as info:
            return bool((await info.json())["status"] == "finished")

    await eventually(finished, "the conversation finishes", seconds=60)
    return at


@pytest.mark.long
async def test_two_owners_never_meet(tmp_path: Path) -> None:
    """In one workspace of one server: memories, their consolidation, and what is recalled of earlier conversations."""
    home, seen = tmp_path / "home", dict[str, list[str]]()
    home.mkdir()

    def script(request: ModelRequest) -> Turn:
        whole = json.dumps([plain(message.content) for message in request.messages])
        owner = next(owner for owner in OWNERS if f"I am {owner}" in whole)
        seen.setdefault(owner, []).append(whole + json.dumps([str(m.tool_calls) for m in request.messages]))
        done = sum(message.role == "tool" for message in request.messages)
        if "You keep the notes" in whole:
            turns = [call("memory", command="add", text=f"{owner}-said-project"), finish("Noted.")]
        else:
            turns = [
                call("memory", command="add", text=f"{owner}-said-person", scope="user"),
                call("memory", command="view"),
                call("memory", command="view", scope="user"),
                call("recall", query="said words", earlier=True),
                call("recall", query="said", earlier=True),
                finish(f"{owner}-said-words"),
            ]
        return turns[done]

    context = AgentContext(load_user_skills=True, consolidate_memory=True)
    agent = Agent(llm=LLM(model="scripted/model"), tools=(Tool("memory"), Tool("recall")), context=context)
    root = tmp_path / "store"
    keys = {owner: await make_key(root, owner, (Scope.OBSERVE, Scope.STEER, Scope.APPROVE)) for owner in OWNERS}
    place = tmp_path / "workspaces" / "shared"
    place.mkdir(parents=True)

    def kept(turns: int) -> bool:
        """Whether the keeper of each owner has finished so often."""
        return all(sum("You keep the notes" in one for one in seen.get(o, [])) >= 2 * turns for o in OWNERS)

    for turn in range(3):
        runtime = Runtime(root, client=ScriptedLLM(script), home=home, idle_after=0.2)
        settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), agent=agent)
        app = create_app(runtime, settings)
        async with serving(app, settings) as url, aiohttp.ClientSession() as session:
            for owner in OWNERS:
                at = await talked(session, url, keys[owner], place, f"I am {owner}, for the time {turn}.")
                others = {"Authorization": f"Bearer {keys[OWNERS[owner == 'ada']]}"}
                async with session.get(f"{at}/events", headers=others) as refused:
                    assert refused.status == 404
            await eventually(partial(kept, turn + 1), "both are consolidated", 60)
    for owner in OWNERS:
        mine, theirs = told_by(owner), told_by(next(other for other in OWNERS if other != owner))
        whole = "".join(seen[owner])
        assert not [canary for canary in theirs if canary in whole]
        results = json.dumps(seen[owner][-6:])
        for canary in mine:
            assert canary in results, f"{owner} finds what is noted and what was said"
    assert not [*home.rglob("MEMORY.md"), *place.rglob("MEMORY.md")], "none where the other could read it"
    for owner in OWNERS:
        shelf = open_storage(root).shelf
        names = [memory_name(owner, scope, str(place)) for scope in ("project", "user")]
        notes = [held[0].decode() for name in names if (held := await shelf.get(KIND, name)) is not None]
        assert notes == [f"- {owner}-said-project\n", f"- {owner}-said-person\n"]
